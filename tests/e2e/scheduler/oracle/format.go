// SPDX-License-Identifier: Apache-2.0

package main

import (
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Case is a cluster, and a pod to place in it.
type Case struct {
	ID                     string                          `json:"id"`
	Profile                string                          `json:"profile,omitempty"`
	Namespaces             []*v1.Namespace                 `json:"namespaces"`
	Nodes                  []*v1.Node                      `json:"nodes"`
	Pods                   []*v1.Pod                       `json:"pods"`
	Pending                *v1.Pod                         `json:"pending"`
	Nominated              []*v1.Pod                       `json:"nominated,omitempty"`
	StorageClasses         []*storagev1.StorageClass       `json:"storageClasses"`
	PersistentVolumes      []*v1.PersistentVolume          `json:"persistentVolumes"`
	PersistentVolumeClaims []*v1.PersistentVolumeClaim     `json:"persistentVolumeClaims"`
	CSINodes               []*storagev1.CSINode            `json:"csiNodes"`
	CSIDrivers             []*storagev1.CSIDriver          `json:"csiDrivers,omitempty"`
	CSIStorageCapacities   []*storagev1.CSIStorageCapacity `json:"csiStorageCapacities,omitempty"`
	VolumeAttachments      []*storagev1.VolumeAttachment   `json:"volumeAttachments,omitempty"`
	PodDisruptionBudgets   []*policyv1.PodDisruptionBudget `json:"podDisruptionBudgets"`
	Services               []*v1.Service                   `json:"services,omitempty"`
	ReplicationControllers []*v1.ReplicationController     `json:"replicationControllers,omitempty"`
	ReplicaSets            []*appsv1.ReplicaSet            `json:"replicaSets,omitempty"`
	StatefulSets           []*appsv1.StatefulSet           `json:"statefulSets,omitempty"`
}

// Verdict is about a node, or about all of them.
type Verdict struct {
	Fits    bool     `json:"fits"`
	Plugin  string   `json:"plugin,omitempty"`
	Code    string   `json:"code,omitempty"`
	Reasons []string `json:"reasons,omitempty"`
}

type Candidate struct {
	Node          string   `json:"node"`
	Victims       []string `json:"victims"`
	PDBViolations int64    `json:"pdbViolations"`
}

type Preemption struct {
	Eligible   bool        `json:"eligible"`
	Message    string      `json:"message,omitempty"`
	Candidates []Candidate `json:"candidates"`
	Chosen     string      `json:"chosen,omitempty"`
	Ties       []string    `json:"ties,omitempty"`
}

type Answer struct {
	ID         string                      `json:"id"`
	Error      string                      `json:"error,omitempty"`
	PreFilter  Verdict                     `json:"preFilter"`
	Filter     map[string]Verdict          `json:"filter,omitempty"`
	Scores     map[string]map[string]int64 `json:"scores,omitempty"`
	Totals     map[string]int64            `json:"totals,omitempty"`
	Chosen     string                      `json:"chosen,omitempty"`
	Via        string                      `json:"via,omitempty"`
	Order      []string                    `json:"order,omitempty"`
	Preemption *Preemption                 `json:"preemption,omitempty"`
}
