// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"sort"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a profile's cases are made of; chances between 0 and 1.
type mixture struct {
	nodes, podsPerNode [2]int // from, to
	alike              bool   // few kinds of nodes and pods, so that ties decide
	resources          float64
	nodeRules          float64 // selectors, affinity, taints, ports, nodeName
	affinity           float64
	spread             float64
	volumes            float64
	owners             float64
	full               float64 // pods large enough to fill the nodes, of many priorities, and budgets
	nominated          float64
}

var profiles = map[string]mixture{
	"basic":     {nodes: [2]int{1, 20}, podsPerNode: [2]int{0, 3}, resources: 1, nodeRules: 0.4},
	"affinity":  {nodes: [2]int{2, 20}, podsPerNode: [2]int{0, 3}, resources: 0.6, nodeRules: 0.1, affinity: 0.8},
	"spread":    {nodes: [2]int{2, 20}, podsPerNode: [2]int{0, 5}, resources: 0.5, nodeRules: 0.2, spread: 0.9},
	"volumes":   {nodes: [2]int{2, 20}, podsPerNode: [2]int{0, 3}, resources: 0.5, nodeRules: 0.1, volumes: 0.9},
	"preempt":   {nodes: [2]int{2, 16}, podsPerNode: [2]int{2, 6}, resources: 1, nodeRules: 0.1, affinity: 0.1, spread: 0.1, full: 1},
	"mixed":     {nodes: [2]int{2, 20}, podsPerNode: [2]int{0, 4}, resources: 0.8, nodeRules: 0.3, affinity: 0.3, spread: 0.3, volumes: 0.2, owners: 0.2, full: 0.2},
	"services":  {nodes: [2]int{2, 20}, podsPerNode: [2]int{0, 5}, resources: 0.3, nodeRules: 0.1, owners: 0.9},
	"large":     {nodes: [2]int{60, 300}, podsPerNode: [2]int{0, 6}, alike: true, resources: 0.9, nodeRules: 0.1, affinity: 0.2, spread: 0.2, owners: 0.2},
	"nominated": {nodes: [2]int{1, 12}, podsPerNode: [2]int{0, 3}, resources: 0.9, nodeRules: 0.3, affinity: 0.3, spread: 0.3, volumes: 0.2, full: 0.6, nominated: 1},
}

func profileNames() []string {
	var out []string
	for name := range profiles {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// generate prints cases that an API server would take as they are, apart from terminating and nominated pods.
// Case i of a seed is the same whatever the count.
func generate(name string, count int, seed uint64, out io.Writer) error {
	chosen, ok := profiles[name]
	if !ok {
		return fmt.Errorf("there is no profile %q; the profiles are %v", name, profileNames())
	}
	encoder := json.NewEncoder(out)
	for i := range count {
		m := &maker{Rand: rand.New(rand.NewPCG(seed, uint64(i))), mixture: chosen}
		c := m.newCase(fmt.Sprintf("%s-%d-%d", name, seed, i), name)
		if err := encoder.Encode(c); err != nil {
			return err
		}
	}
	return nil
}

type maker struct {
	*rand.Rand
	mixture
	c *Case
}

func (m *maker) chance(p float64) bool  { return m.Float64() < p }
func (m *maker) between(r [2]int) int   { return r[0] + m.IntN(r[1]-r[0]+1) }
func pick[T any](m *maker, from ...T) T { return from[m.IntN(len(from))] }

var namespaces = []string{"default", "red", "blue"}

func (m *maker) newCase(id, name string) *Case {
	m.c = &Case{ID: id, Profile: name}
	for i, ns := range namespaces {
		m.c.Namespaces = append(m.c.Namespaces, &v1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: ns, Labels: map[string]string{"team": ns, "env": []string{"core", "prod", "dev"}[i], "kubernetes.io/metadata.name": ns}},
		})
	}
	nodes := m.between(m.nodes)
	zones := 1 + m.IntN(4)
	if m.alike {
		zones = 3 + m.IntN(10)
	}
	kinds := 1
	if !m.alike || m.chance(0.5) {
		kinds = 2 + m.IntN(3)
	}
	var samples []*v1.Node
	for range kinds {
		samples = append(samples, m.node())
	}
	for i := range nodes {
		node := m.node()
		if m.alike {
			node = pick(m, samples...).DeepCopy()
		}
		node.Name = fmt.Sprintf("node-%03d", i)
		m.place(node, zones)
		m.c.Nodes = append(m.c.Nodes, node)
	}
	if m.volumes > 0 {
		m.storage()
	}
	if m.owners > 0 {
		m.selectors()
	}
	count := 0
	var shapes []*v1.Pod
	for range 1 + m.IntN(4) {
		shapes = append(shapes, m.pod("shape"))
	}
	for _, node := range m.c.Nodes {
		for range m.between(m.podsPerNode) {
			pod := m.pod("")
			if m.alike {
				pod = pick(m, shapes...).DeepCopy()
			}
			pod.Name = fmt.Sprintf("pod-%03d", count)
			m.run(pod, node.Name, count)
			count++
			m.c.Pods = append(m.c.Pods, pod)
		}
	}
	m.c.Pending = m.pod("pending")
	if m.full > 0 && m.chance(0.7) {
		m.c.Pending.Spec.Priority = ptrTo(pick[int32](m, 100, 1000))
		m.c.Pending.Spec.Containers[0].Resources = requests("cpu", pick(m, "1", "2", "3"), "memory", pick(m, "1Gi", "2Gi"))
	}
	if m.full > 0 {
		m.budgets()
		if m.chance(0.05) {
			m.c.Pending.Spec.PreemptionPolicy = ptrTo(v1.PreemptNever)
		}
	}
	if m.nominated > 0 {
		for i := range 1 + m.IntN(8) {
			other := m.pod(fmt.Sprintf("nominated-%d", i))
			if m.chance(0.85) {
				other.Status.NominatedNodeName = pick(m, m.c.Nodes...).Name
			}
			if m.chance(0.05) {
				other.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "wait"}}
			}
			m.c.Nominated = append(m.c.Nominated, other)
		}
		if m.chance(0.3) {
			m.c.Pending.Status.NominatedNodeName = pick(m, m.c.Nodes...).Name
		}
	}
	return m.c
}

func ptrTo[T any](value T) *T { return &value }

// run makes the pod one that runs on a node since some minute of a day.
func (m *maker) run(pod *v1.Pod, node string, number int) {
	pod.UID = metaUID(pod.Name)
	pod.Spec.NodeName = node
	pod.Status.Phase = v1.PodRunning
	start := metav1.NewTime(time.Date(2026, 1, 1, 0, m.IntN(1440), 0, 0, time.UTC))
	pod.Status.StartTime = &start
	if m.full > 0 {
		pod.Spec.Priority = ptrTo(pick[int32](m, -10, 0, 0, 10, 10, 100, 1000))
		if m.chance(0.8) {
			pod.Spec.Containers[0].Resources = requests("cpu", pick(m, "500m", "1", "2"), "memory", pick(m, "512Mi", "1Gi", "2Gi"))
		}
	}
	if m.chance(0.03) {
		pod.DeletionTimestamp = ptrTo(metav1.NewTime(start.Add(time.Hour)))
		pod.DeletionGracePeriodSeconds = ptrTo[int64](30)
	}
}
