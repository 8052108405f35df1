// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var apps = []string{"web", "db", "cache", "batch", "ml"}

func (m *maker) pod(name string) *v1.Pod {
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pod.Name, pod.Namespace = name, pick(m, namespaces...)
	pod.UID = metaUID(name)
	pod.Labels = map[string]string{"app": pick(m, apps...)}
	if m.chance(0.4) {
		pod.Labels["tier"] = pick(m, "gold", "silver", "bronze")
	}
	if m.chance(0.4) {
		pod.Labels["rev"] = pick(m, "1", "2")
	}
	pod.Spec.TerminationGracePeriodSeconds = ptrTo[int64](0)
	pod.Spec.SchedulerName = v1.DefaultSchedulerName
	pod.Spec.Priority = ptrTo(pick[int32](m, 0, 0, 10, 100))
	for i := range 1 + m.IntN(2) {
		pod.Spec.Containers = append(pod.Spec.Containers, m.container(fmt.Sprintf("c%d", i)))
	}
	if m.chance(m.resources * 0.15) {
		init := m.container("init")
		if m.chance(0.4) {
			init.RestartPolicy = ptrTo(v1.ContainerRestartPolicyAlways)
		}
		pod.Spec.InitContainers = []v1.Container{init}
	}
	if m.chance(m.resources * 0.05) {
		pod.Spec.Overhead = amounts("cpu", "250m", "memory", "64Mi")
	}
	if m.chance(m.resources * 0.05) {
		pod.Spec.Resources = ptrTo(requests("cpu", "6", "memory", "13Gi")) // not less than any sum of containers
	}
	if m.chance(m.nodeRules) {
		m.rules(pod)
	}
	if m.chance(m.affinity) {
		m.company(pod)
	}
	if m.chance(m.spread) {
		m.spreading(pod)
	}
	if m.chance(m.owners) {
		m.own(pod)
	}
	if m.chance(m.volumes) && name != "shape" {
		for range 1 + m.IntN(2) {
			m.claim(pod)
		}
	}
	return pod
}

func (m *maker) container(name string) v1.Container {
	c := v1.Container{Name: name, Image: pick(m, "reg/app:v1", "reg/app:v2", "reg/big:v1", "reg/huge:v3", "tool")}
	if !m.chance(m.resources) {
		return c
	}
	asked := v1.ResourceList{}
	if m.chance(0.8) {
		asked[v1.ResourceCPU] = resource.MustParse(pick(m, "50m", "100m", "500m", "1500m", "1", "3"))
	}
	if m.chance(0.8) {
		asked[v1.ResourceMemory] = resource.MustParse(pick(m, "64Mi", "512Mi", "1Gi", "3Gi", "6000M"))
	}
	if m.chance(0.1) {
		asked[v1.ResourceEphemeralStorage] = resource.MustParse(pick(m, "1Gi", "30Gi"))
	}
	c.Resources.Requests = asked
	special := v1.ResourceName("")
	if m.chance(0.05) {
		special = "example.com/foo"
	} else if m.chance(0.03) && len(asked) > 0 {
		special = "hugepages-2Mi"
	}
	if special != "" {
		amount := resource.MustParse(map[v1.ResourceName]string{"example.com/foo": "1", "hugepages-2Mi": "64Mi"}[special])
		asked[special] = amount
		c.Resources.Limits = v1.ResourceList{special: amount}
	}
	return c
}

func (m *maker) requirement() v1.NodeSelectorRequirement {
	r := v1.NodeSelectorRequirement{Key: pick(m, "disktype", "tier", "topology.kubernetes.io/zone"), Operator: pick(m, v1.NodeSelectorOpIn, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn, v1.NodeSelectorOpExists, v1.NodeSelectorOpDoesNotExist)}
	if m.chance(0.2) {
		return v1.NodeSelectorRequirement{Key: "cpu-gen", Operator: pick(m, v1.NodeSelectorOpGt, v1.NodeSelectorOpLt), Values: []string{fmt.Sprint(m.IntN(9))}}
	}
	if r.Operator == v1.NodeSelectorOpIn || r.Operator == v1.NodeSelectorOpNotIn {
		values := map[string][]string{"disktype": {"ssd", "hdd", "nvme"}, "tier": {"gold", "silver", "bronze"}, "topology.kubernetes.io/zone": {"z0", "z1", "z2", "z3"}}[r.Key]
		at := m.IntN(len(values))
		r.Values = values[at:min(len(values), at+1+m.IntN(2))]
	}
	return r
}

func (m *maker) term() v1.NodeSelectorTerm {
	term := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{m.requirement()}}
	if m.chance(0.3) {
		term.MatchExpressions = append(term.MatchExpressions, m.requirement())
	}
	if m.chance(0.1) {
		field := v1.NodeSelectorRequirement{Key: "metadata.name", Operator: pick(m, v1.NodeSelectorOpIn, v1.NodeSelectorOpNotIn), Values: []string{fmt.Sprintf("node-%03d", m.IntN(12))}}
		term.MatchFields = []v1.NodeSelectorRequirement{field}
		if m.chance(0.5) {
			term.MatchExpressions = nil
		}
	}
	return term
}

func affinityOf(pod *v1.Pod) *v1.Affinity {
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &v1.Affinity{}
	}
	return pod.Spec.Affinity
}

// rules say which nodes the pod may use.
func (m *maker) rules(pod *v1.Pod) {
	if m.chance(0.15) {
		pod.Spec.NodeSelector = map[string]string{"disktype": pick(m, "ssd", "hdd")}
	}
	if m.chance(0.3) {
		var terms []v1.NodeSelectorTerm
		for range 1 + m.IntN(2) {
			terms = append(terms, m.term())
		}
		affinityOf(pod).NodeAffinity = &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &v1.NodeSelector{NodeSelectorTerms: terms}}
	}
	if m.chance(0.4) {
		affinity := affinityOf(pod)
		if affinity.NodeAffinity == nil {
			affinity.NodeAffinity = &v1.NodeAffinity{}
		}
		for range 1 + m.IntN(3) {
			affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution,
				v1.PreferredSchedulingTerm{Weight: int32(1 + m.IntN(100)), Preference: m.term()})
		}
	}
	for range m.IntN(4) {
		taint := m.taint()
		toleration := v1.Toleration{Key: taint.Key, Operator: v1.TolerationOpExists, Effect: taint.Effect}
		if m.chance(0.4) {
			toleration.Operator, toleration.Value = v1.TolerationOpEqual, taint.Value
		}
		if m.chance(0.3) {
			toleration.Effect = ""
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, toleration)
	}
	if m.chance(0.1) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{Operator: v1.TolerationOpExists})
	}
	if m.chance(0.2) {
		port := v1.ContainerPort{ContainerPort: 80, HostPort: pick[int32](m, 80, 443), Protocol: pick(m, v1.ProtocolTCP, v1.ProtocolUDP), HostIP: pick(m, "", "", "127.0.0.1")}
		pod.Spec.Containers[0].Ports = []v1.ContainerPort{port}
	}
}

func (m *maker) selector() *metav1.LabelSelector {
	switch m.IntN(6) {
	case 0:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: pick(m, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}}}
	case 1:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: pick(m, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn), Values: []string{pick(m, apps...), pick(m, apps...)}}}}
	}
	return selectorFor("app", pick(m, apps...))
}

var topologies = []string{"kubernetes.io/hostname", "topology.kubernetes.io/zone", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"}

func (m *maker) podTerm() v1.PodAffinityTerm {
	term := v1.PodAffinityTerm{LabelSelector: m.selector(), TopologyKey: pick(m, topologies...)}
	if m.chance(0.2) {
		term.Namespaces = []string{pick(m, namespaces...)}
	}
	if m.chance(0.2) {
		term.NamespaceSelector = pick(m, &metav1.LabelSelector{}, selectorFor("env", "prod"), selectorFor("team", "blue"))
	}
	if m.chance(0.1) {
		term.MatchLabelKeys = []string{"rev"}
	} else if m.chance(0.1) {
		term.MismatchLabelKeys = []string{"rev"}
	}
	return term
}

// company says which pods the pod wants near or far.
func (m *maker) company(pod *v1.Pod) {
	near, far := &v1.PodAffinity{}, &v1.PodAntiAffinity{}
	if m.chance(0.3) {
		near.RequiredDuringSchedulingIgnoredDuringExecution = []v1.PodAffinityTerm{m.podTerm()}
		if m.chance(0.2) {
			near.RequiredDuringSchedulingIgnoredDuringExecution = append(near.RequiredDuringSchedulingIgnoredDuringExecution, m.podTerm())
		}
	}
	if m.chance(0.4) {
		far.RequiredDuringSchedulingIgnoredDuringExecution = []v1.PodAffinityTerm{m.podTerm()}
	}
	for range m.IntN(3) {
		near.PreferredDuringSchedulingIgnoredDuringExecution = append(near.PreferredDuringSchedulingIgnoredDuringExecution, v1.WeightedPodAffinityTerm{Weight: int32(1 + m.IntN(100)), PodAffinityTerm: m.podTerm()})
	}
	for range m.IntN(2) {
		far.PreferredDuringSchedulingIgnoredDuringExecution = append(far.PreferredDuringSchedulingIgnoredDuringExecution, v1.WeightedPodAffinityTerm{Weight: int32(1 + m.IntN(100)), PodAffinityTerm: m.podTerm()})
	}
	affinity := affinityOf(pod)
	if len(near.RequiredDuringSchedulingIgnoredDuringExecution)+len(near.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
		affinity.PodAffinity = near
	}
	if len(far.RequiredDuringSchedulingIgnoredDuringExecution)+len(far.PreferredDuringSchedulingIgnoredDuringExecution) > 0 {
		affinity.PodAntiAffinity = far
	}
}

func (m *maker) spreading(pod *v1.Pod) {
	seen := map[string]bool{}
	for range 1 + m.IntN(2) {
		spread := v1.TopologySpreadConstraint{MaxSkew: int32(1 + m.IntN(3)), TopologyKey: pick(m, topologies...), WhenUnsatisfiable: pick(m, v1.DoNotSchedule, v1.ScheduleAnyway), LabelSelector: m.selector()}
		if key := spread.TopologyKey + string(spread.WhenUnsatisfiable); seen[key] {
			continue
		} else {
			seen[key] = true
		}
		if m.chance(0.6) {
			spread.LabelSelector = selectorFor("app", pod.Labels["app"])
		}
		if spread.WhenUnsatisfiable == v1.DoNotSchedule && m.chance(0.3) {
			spread.MinDomains = ptrTo(int32(1 + m.IntN(4)))
		}
		if m.chance(0.3) {
			spread.NodeAffinityPolicy = ptrTo(pick(m, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore))
		}
		if m.chance(0.3) {
			spread.NodeTaintsPolicy = ptrTo(pick(m, v1.NodeInclusionPolicyHonor, v1.NodeInclusionPolicyIgnore))
		}
		if m.chance(0.15) {
			spread.MatchLabelKeys = []string{"rev"}
		}
		pod.Spec.TopologySpreadConstraints = append(pod.Spec.TopologySpreadConstraints, spread)
	}
}
