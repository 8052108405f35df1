// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Informers that hold a case's objects from the start and tell handlers of them while these are
// added: nothing runs beside the answer, so nothing has to be waited for.
type static struct{ cache.SharedIndexInformer }

type told struct{}

func (told) HasSynced() bool                     { return true }
func (told) HasSyncedChecker() cache.DoneChecker { return done{} }

type done struct{}

func (done) Name() string { return "static" }
func (done) Done() <-chan struct{} {
	closed := make(chan struct{})
	close(closed)
	return closed
}

func (s static) AddEventHandler(handler cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	for _, object := range s.GetIndexer().List() {
		handler.OnAdd(object, true)
	}
	return told{}, nil
}

func (s static) AddEventHandlerWithResyncPeriod(handler cache.ResourceEventHandler, _ time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}

func (s static) AddEventHandlerWithOptions(handler cache.ResourceEventHandler, _ cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(handler)
}

func (s static) HasSynced() bool { return true }

func hold[T runtime.Object](factory informers.SharedInformerFactory, kind T, objects []T) {
	factory.InformerFor(kind, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, kind, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		for _, object := range objects {
			if err := informer.GetIndexer().Add(object); err != nil {
				panic(err) // only for an object without metadata
			}
		}
		return static{informer}
	})
}

// Nodes and pods are not told: they go to the scheduler's cache and queue in the order that the case has them in.
func staticInformers(client kubernetes.Interface, c *Case) informers.SharedInformerFactory {
	factory := informers.NewSharedInformerFactory(client, 0)
	hold(factory, &v1.Pod{}, nil)
	hold(factory, &v1.Namespace{}, c.Namespaces)
	hold(factory, &storagev1.StorageClass{}, c.StorageClasses)
	hold(factory, &v1.PersistentVolume{}, c.PersistentVolumes)
	hold(factory, &v1.PersistentVolumeClaim{}, c.PersistentVolumeClaims)
	hold(factory, &storagev1.CSINode{}, c.CSINodes)
	hold(factory, &storagev1.CSIDriver{}, c.CSIDrivers)
	hold(factory, &storagev1.CSIStorageCapacity{}, c.CSIStorageCapacities)
	hold(factory, &storagev1.VolumeAttachment{}, c.VolumeAttachments)
	hold(factory, &policyv1.PodDisruptionBudget{}, c.PodDisruptionBudgets)
	hold(factory, &v1.Service{}, c.Services)
	hold(factory, &v1.ReplicationController{}, c.ReplicationControllers)
	hold(factory, &appsv1.ReplicaSet{}, c.ReplicaSets)
	hold(factory, &appsv1.StatefulSet{}, c.StatefulSets)
	return factory
}
