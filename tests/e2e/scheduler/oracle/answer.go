// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sort"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"k8s.io/kubernetes/pkg/scheduler/profile"
	"k8s.io/utils/ptr"
)

// A scheduler of its own for each case, as it is before its first cycle.
type fresh struct {
	ctx       context.Context
	scheduler *scheduler.Scheduler
	framework framework.Framework
	nodes     []fwk.NodeInfo
	budgets   []*policyv1.PodDisruptionBudget
	queued    *framework.QueuedPodInfo
}

// The default profile without DynamicResources.
func defaultProfile() (config.KubeSchedulerProfile, error) {
	defaults, err := latest.Default()
	if err != nil {
		return config.KubeSchedulerProfile{}, err
	}
	profile := defaults.Profiles[0]
	var kept []config.Plugin
	for _, plugin := range profile.Plugins.MultiPoint.Enabled {
		if plugin.Name != names.DynamicResources {
			kept = append(kept, plugin)
		}
	}
	profile.Plugins.MultiPoint.Enabled = kept
	return profile, nil
}

func prepare(ctx context.Context, c *Case) (*fresh, error) {
	logger := klog.FromContext(ctx)
	wanted, err := defaultProfile()
	if err != nil {
		return nil, err
	}
	nobody := fake.NewSimpleClientset()
	informers := staticInformers(nobody, c)
	made, err := scheduler.New(ctx, nobody, informers, nil,
		profile.RecorderFactory(func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }),
		scheduler.WithProfiles(wanted), scheduler.WithParallelism(1), scheduler.WithPercentageOfNodesToScore(ptr.To[int32](100)))
	if err != nil {
		return nil, err
	}
	f := &fresh{ctx: ctx, scheduler: made, framework: made.Profiles[v1.DefaultSchedulerName], budgets: c.PodDisruptionBudgets}
	for _, node := range c.Nodes {
		made.Cache.AddNode(logger, node)
	}
	for _, pod := range c.Pods {
		if err := made.Cache.AddPod(logger, pod); err != nil {
			return nil, err
		}
	}
	// The queue nominates only pods that the informer knows.
	known := informers.Core().V1().Pods().Informer().GetIndexer()
	for _, pod := range append([]*v1.Pod{c.Pending}, c.Nominated...) {
		if err := known.Add(pod); err != nil {
			return nil, err
		}
	}
	// The pod leaves the queue before the others come in, so that it is this one that is being placed.
	made.SchedulingQueue.Add(ctx, c.Pending)
	if f.queued, err = made.NextPod(logger); err != nil {
		return nil, err
	}
	for _, pod := range c.Nominated {
		made.SchedulingQueue.Add(ctx, pod)
	}
	snapshot, ok := f.framework.SnapshotSharedLister().(*cache.Snapshot)
	if !ok {
		return nil, fmt.Errorf("the framework's snapshot is a %T", f.framework.SnapshotSharedLister())
	}
	if err := made.Cache.UpdateSnapshot(logger, snapshot); err != nil {
		return nil, err
	}
	f.nodes, err = snapshot.List()
	return f, err
}

func answer(c *Case) (*Answer, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	f, err := prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &Answer{ID: c.ID}
	state := framework.NewCycleState()
	restriction, status, _ := f.framework.RunPreFilterPlugins(ctx, state, c.Pending)
	out.PreFilter = verdict(status)
	if !status.IsSuccess() {
		return out, nil
	}

	out.Filter = map[string]Verdict{}
	statuses := framework.NewDefaultNodeToStatus()
	var feasible []fwk.NodeInfo
	for _, node := range f.nodes {
		name := node.Node().Name
		if !restriction.AllNodes() && !restriction.NodeNames.Has(name) {
			left := fwk.NewStatus(fwk.UnschedulableAndUnresolvable)
			statuses.Set(name, left)
			out.Filter[name] = Verdict{Plugin: "PreFilter", Code: left.Code().String()}
			continue
		}
		status := f.framework.RunFilterPluginsWithNominatedPods(ctx, state, c.Pending, node)
		out.Filter[name] = verdict(status)
		if status.IsSuccess() {
			feasible = append(feasible, node)
		} else {
			statuses.Set(name, status)
		}
	}
	if len(feasible) == 0 {
		out.Preemption, err = f.preemption(c.Pending, state, statuses)
		return out, err
	}
	return out, f.choose(c.Pending, state, feasible, out)
}

func (f *fresh) choose(pod *v1.Pod, state fwk.CycleState, feasible []fwk.NodeInfo, out *Answer) error {
	if status := f.framework.RunPreScorePlugins(f.ctx, state, pod, feasible); !status.IsSuccess() {
		return status.AsError()
	}
	scores, status := f.framework.RunScorePlugins(f.ctx, state, pod, feasible)
	if !status.IsSuccess() {
		return status.AsError()
	}
	out.Scores, out.Totals = map[string]map[string]int64{}, map[string]int64{}
	for _, node := range scores {
		out.Totals[node.Name] = node.TotalScore
		out.Scores[node.Name] = map[string]int64{}
		for _, score := range node.Scores {
			out.Scores[node.Name][score.Name] = score.Score
		}
	}
	for _, node := range f.nodes {
		out.Order = append(out.Order, node.Node().Name)
	}
	result, err := f.scheduler.SchedulePod(f.ctx, f.framework, framework.NewCycleState(), f.queued)
	if err != nil {
		return err
	}
	out.Chosen = result.SuggestedHost
	if nominated := pod.Status.NominatedNodeName; nominated != "" && out.Filter[nominated].Fits {
		out.Via = "nominated"
	}
	return nil
}

// preemption tells every candidate, where the real code stops after some of them, from a node on that it draws.
func (f *fresh) preemption(pod *v1.Pod, state fwk.CycleState, statuses *framework.NodeToStatus) (*Preemption, error) {
	plugin, err := defaultpreemption.New(f.ctx, &config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 10, MinCandidateNodesAbsolute: 100},
		f.framework, feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate))
	if err != nil {
		return nil, err
	}
	out := &Preemption{Candidates: []Candidate{}}
	out.Eligible, out.Message = plugin.PodEligibleToPreemptOthers(f.ctx, pod, statuses.Get(pod.Status.NominatedNodeName))
	if !out.Eligible {
		return out, nil
	}
	potential, err := statuses.NodesForStatusCode(f.framework.SnapshotSharedLister().NodeInfos(), fwk.Unschedulable)
	if err != nil {
		return nil, err
	}
	// Candidates are sought until as many are found as nodes are there: that is, on all of them.
	found, _, err := plugin.Evaluator.DryRunPreemption(f.ctx, state, pod, potential, f.budgets, 0, int32(len(potential)+1))
	if err != nil && len(found) == 0 {
		return nil, err
	}
	if len(found) == 0 {
		return out, nil
	}
	for _, candidate := range found {
		each := Candidate{Node: candidate.Name(), PDBViolations: candidate.Victims().NumPDBViolations}
		for _, victim := range candidate.Victims().Pods {
			each.Victims = append(each.Victims, victim.Namespace+"/"+victim.Name)
		}
		out.Candidates = append(out.Candidates, each)
	}
	sort.Slice(out.Candidates, func(i, j int) bool { return out.Candidates[i].Node < out.Candidates[j].Node })
	best := plugin.Evaluator.SelectCandidate(f.ctx, found)
	if best == nil {
		return nil, errors.New("no candidate was selected")
	}
	out.Chosen = best.Name()
	for _, candidate := range found {
		if candidate.Name() == best.Name() || f.mayBeatBy(plugin, best, candidate) {
			out.Ties = append(out.Ties, candidate.Name())
		}
	}
	sort.Strings(out.Ties)
	return out, nil
}

// mayBeatBy asks the real code often enough to see it pick either one, if it may: it draws among equals.
func (f *fresh) mayBeatBy(plugin *defaultpreemption.DefaultPreemption, best, other preemption.Candidate) bool {
	for range 64 {
		if plugin.Evaluator.SelectCandidate(f.ctx, []preemption.Candidate{best, other}).Name() == other.Name() {
			return true
		}
	}
	return false
}

func verdict(status *fwk.Status) Verdict {
	if status.IsSuccess() {
		return Verdict{Fits: true}
	}
	reasons := append([]string{}, status.Reasons()...)
	sort.Strings(reasons)
	return Verdict{Plugin: status.Plugin(), Code: status.Code().String(), Reasons: reasons}
}
