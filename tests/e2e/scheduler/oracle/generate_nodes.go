// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func metaUID(name string) types.UID { return types.UID("uid-" + name) }

func amounts(pairs ...string) v1.ResourceList {
	out := v1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		out[v1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return out
}

func requests(pairs ...string) v1.ResourceRequirements {
	return v1.ResourceRequirements{Requests: amounts(pairs...)}
}

var images = []struct {
	name string
	size int64
}{{"reg/app:v1", 50 << 20}, {"reg/app:v2", 300 << 20}, {"reg/big:v1", 900 << 20}, {"reg/huge:v3", 2500 << 20}}

func (m *maker) taint() v1.Taint {
	taint := v1.Taint{Key: pick(m, "dedicated", "gpu", "flaky"), Effect: pick(m, v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute)}
	if taint.Key != "flaky" {
		taint.Value = pick(m, "batch", "ml", "true")
	}
	return taint
}

func (m *maker) node() *v1.Node {
	node := &v1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}}
	node.Labels = map[string]string{"disktype": pick(m, "ssd", "hdd", "nvme")}
	if m.chance(0.5) {
		node.Labels["cpu-gen"] = fmt.Sprint(1 + m.IntN(9))
	}
	if m.chance(0.7) {
		node.Labels["tier"] = pick(m, "gold", "silver", "bronze")
	}
	room := amounts("cpu", pick(m, "2", "4", "3900m", "8", "16"), "memory", pick(m, "4Gi", "8Gi", "15500Mi", "32Gi"), "pods", pick(m, "3", "6", "12", "110"))
	if m.full == 1 {
		room[v1.ResourceCPU] = resource.MustParse(pick(m, "2", "4"))
		room[v1.ResourcePods] = resource.MustParse(pick(m, "4", "110"))
	}
	if m.chance(0.7) {
		room[v1.ResourceEphemeralStorage] = resource.MustParse(pick(m, "20Gi", "100Gi"))
	}
	if m.chance(0.2) {
		room["example.com/foo"] = resource.MustParse(pick(m, "1", "4"))
	}
	if m.chance(0.1) {
		room["hugepages-2Mi"] = resource.MustParse("256Mi")
	}
	node.Status.Allocatable, node.Status.Capacity = room, room
	if m.chance(m.nodeRules) {
		seen := map[string]bool{}
		for range 1 + m.IntN(2) {
			taint := m.taint()
			if key := taint.Key + string(taint.Effect); !seen[key] {
				seen[key] = true
				node.Spec.Taints = append(node.Spec.Taints, taint)
			}
		}
	}
	node.Spec.Unschedulable = m.chance(m.nodeRules * 0.1)
	for _, image := range images {
		if m.chance(0.3) {
			node.Status.Images = append(node.Status.Images, v1.ContainerImage{Names: []string{image.name}, SizeBytes: image.size})
		}
	}
	return node
}

func (m *maker) place(node *v1.Node, zones int) {
	labels := map[string]string{}
	for key, value := range node.Labels {
		labels[key] = value
	}
	node.Labels = labels
	if !m.chance(0.03) {
		labels["kubernetes.io/hostname"] = node.Name
	}
	zone := m.IntN(zones)
	if !m.chance(0.05) {
		labels["topology.kubernetes.io/zone"] = fmt.Sprintf("z%d", zone)
		labels["topology.kubernetes.io/region"] = fmt.Sprintf("r%d", zone%2)
	}
}

func selectorFor(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

func (m *maker) budgets() {
	for i := range m.IntN(5) {
		budget := &policyv1.PodDisruptionBudget{TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}}
		budget.Name, budget.Namespace = fmt.Sprintf("pdb-%d", i), pick(m, namespaces...)
		budget.Spec.MinAvailable = ptrTo(intstr.FromInt32(1))
		budget.Spec.Selector = selectorFor("app", pick(m, apps...))
		budget.Status.DisruptionsAllowed = int32(m.IntN(3))
		m.c.PodDisruptionBudgets = append(m.c.PodDisruptionBudgets, budget)
	}
}

// selectors are what default spreading looks at: services, and the controllers that own pods.
func (m *maker) selectors() {
	for i, app := range apps {
		ns := pick(m, namespaces...)
		labels := map[string]string{"app": app}
		meta := metav1.ObjectMeta{Name: fmt.Sprintf("of-%s-%d", app, i), Namespace: ns}
		if m.chance(0.6) {
			m.c.Services = append(m.c.Services, &v1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta, Spec: v1.ServiceSpec{Selector: labels, Ports: []v1.ServicePort{{Port: 80}}}})
		}
		template := v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: v1.PodSpec{Containers: []v1.Container{{Name: "c", Image: "i"}}}}
		selector := &metav1.LabelSelector{MatchLabels: labels}
		switch m.IntN(4) {
		case 0:
			m.c.ReplicationControllers = append(m.c.ReplicationControllers, &v1.ReplicationController{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ReplicationController"}, ObjectMeta: meta, Spec: v1.ReplicationControllerSpec{Selector: labels, Template: &template}})
		case 1:
			m.c.ReplicaSets = append(m.c.ReplicaSets, &appsv1.ReplicaSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: meta, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template}})
		case 2:
			m.c.StatefulSets = append(m.c.StatefulSets, &appsv1.StatefulSet{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template}})
		}
	}
}

// own makes one of the controllers the pod's, in its namespace and with its labels most of the time.
func (m *maker) own(pod *v1.Pod) {
	var owners []metav1.OwnerReference
	var namespaces []string
	add := func(version, kind string, meta metav1.ObjectMeta) {
		owners = append(owners, metav1.OwnerReference{APIVersion: version, Kind: kind, Name: meta.Name, UID: metaUID(meta.Name), Controller: ptrTo(!m.chance(0.1))})
		namespaces = append(namespaces, meta.Namespace)
	}
	for _, each := range m.c.ReplicationControllers {
		add("v1", "ReplicationController", each.ObjectMeta)
	}
	for _, each := range m.c.ReplicaSets {
		add("apps/v1", "ReplicaSet", each.ObjectMeta)
	}
	for _, each := range m.c.StatefulSets {
		add("apps/v1", "StatefulSet", each.ObjectMeta)
	}
	if len(owners) == 0 {
		return
	}
	i := m.IntN(len(owners))
	pod.OwnerReferences = owners[i : i+1]
	if m.chance(0.9) {
		pod.Namespace = namespaces[i]
	}
}

const driver = "disk.example.com"

func (m *maker) storage() {
	for _, class := range []struct {
		name string
		mode storagev1.VolumeBindingMode
	}{{"now", storagev1.VolumeBindingImmediate}, {"later", storagev1.VolumeBindingWaitForFirstConsumer}, {"local", storagev1.VolumeBindingWaitForFirstConsumer}} {
		made := &storagev1.StorageClass{TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass"}, Provisioner: driver, VolumeBindingMode: ptrTo(class.mode)}
		made.Name = class.name
		if class.name == "local" {
			made.Provisioner = "kubernetes.io/no-provisioner"
		}
		if class.name == "later" && m.chance(0.3) {
			made.AllowedTopologies = []v1.TopologySelectorTerm{{MatchLabelExpressions: []v1.TopologySelectorLabelRequirement{{Key: "topology.kubernetes.io/zone", Values: []string{"z0", "z1"}}}}}
		}
		m.c.StorageClasses = append(m.c.StorageClasses, made)
	}
	for _, node := range m.c.Nodes {
		if m.chance(0.6) {
			made := &storagev1.CSINode{TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSINode"}}
			made.Name = node.Name
			made.Spec.Drivers = []storagev1.CSINodeDriver{{Name: driver, NodeID: node.Name}}
			if m.chance(0.8) {
				made.Spec.Drivers[0].Allocatable = &storagev1.VolumeNodeResources{Count: ptrTo(int32(m.IntN(4)))}
			}
			m.c.CSINodes = append(m.c.CSINodes, made)
		}
	}
	for range m.IntN(4) {
		m.volume("local", "", "")
	}
}

// volume makes a PersistentVolume, bound where a claim is named.
func (m *maker) volume(class, ns, claim string) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolume"}}
	pv.Name = fmt.Sprintf("pv-%d", len(m.c.PersistentVolumes))
	pv.Spec.StorageClassName = class
	pv.Spec.Capacity = amounts("storage", pick(m, "1Gi", "5Gi", "10Gi"))
	pv.Spec.AccessModes = []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce, v1.ReadWriteOncePod}
	pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: pv.Name}
	pv.Status.Phase = v1.VolumeAvailable
	if claim != "" {
		pv.Spec.Capacity = amounts("storage", "10Gi")
		pv.Spec.ClaimRef = &v1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: ns, Name: claim, UID: metaUID(claim)}
		pv.Status.Phase = v1.VolumeBound
	}
	if class == "local" || m.chance(0.5) {
		key, value := "kubernetes.io/hostname", pick(m, m.c.Nodes...).Name
		if m.chance(0.5) {
			key, value = "topology.kubernetes.io/zone", pick(m, "z0", "z1", "z2")
		}
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}}}}}}
	} else if m.chance(0.5) {
		pv.Labels = map[string]string{"topology.kubernetes.io/zone": pick(m, "z0", "z1", "z0__z2")}
	}
	m.c.PersistentVolumes = append(m.c.PersistentVolumes, pv)
	return pv
}

// claim makes a PersistentVolumeClaim in the pod's namespace, or takes one that is there, and has the pod use it.
func (m *maker) claim(pod *v1.Pod) {
	name := fmt.Sprintf("claim-%d", len(m.c.PersistentVolumeClaims))
	var there []string
	for _, each := range m.c.PersistentVolumeClaims {
		if each.Namespace == pod.Namespace {
			there = append(there, each.Name)
		}
	}
	switch {
	case m.chance(0.03):
		name = "missing"
	case len(there) > 0 && m.chance(0.2):
		name = pick(m, there...)
	default:
		pvc := &v1.PersistentVolumeClaim{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}}
		pvc.Name, pvc.Namespace, pvc.UID = name, pod.Namespace, metaUID(name)
		pvc.Spec.AccessModes = []v1.PersistentVolumeAccessMode{pick(m, v1.ReadWriteOnce, v1.ReadWriteOnce, v1.ReadWriteOncePod)}
		pvc.Spec.Resources = v1.VolumeResourceRequirements{Requests: amounts("storage", pick(m, "1Gi", "4Gi"))}
		class := pick(m, "now", "later", "local")
		pvc.Spec.StorageClassName = &class
		if pod.Name != "pending" || m.chance(0.5) {
			pvc.Spec.VolumeName = m.volume(class, pod.Namespace, name).Name
			pvc.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
			pvc.Status.Phase = v1.ClaimBound
		} else {
			pvc.Status.Phase = v1.ClaimPending
		}
		m.c.PersistentVolumeClaims = append(m.c.PersistentVolumeClaims, pvc)
	}
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim.ClaimName == name {
			return
		}
	}
	pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "v-" + name, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}}})
}
