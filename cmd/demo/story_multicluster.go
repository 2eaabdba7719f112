// SPDX-License-Identifier: Apache-2.0

package main

// multiclusterActs show a quota over two clusters.
var multiclusterActs = []act{{
	title: "Two clusters with sixteen H100 each; queue ml-team may use 8 of them in both together (config/samples/multicluster)",
	memberSamples: []string{
		"samples/cluster/nodes.yaml", "samples/cluster/resourceslices.yaml", "samples/cluster/deviceclass.yaml", "samples/multicluster/member",
	},
	samples: []string{"samples/cluster/deviceclass.yaml", "samples/jobs/claim-template.yaml", "samples/multicluster/karmada"},
	jobs:    []job{{"first", 5}, {"second", 3}, {"third", 4}, {"urgent", 4}}, devices: 8,
	chapters: []chapter{
		{"Job first: 5 pods with one H100 each, in the cluster member1 (config/samples/multicluster/jobs)", []string{"samples/multicluster/jobs/first.yaml"},
			"the first job runs", func(s state) bool { return s.jobs[0].running == 5 }},
		{"Job second: 3 pods, in the cluster member2", []string{"samples/multicluster/jobs/second.yaml"},
			"the queue is full, across two clusters", func(s state) bool { return s.jobs[1].running == 3 && s.inUse() == 8 }},
		{"Job third: 4 pods", []string{"samples/multicluster/jobs/third.yaml"},
			"no cluster gets the third job, and an event says why", func(s state) bool { return s.jobs[2].waiting == 4 && s.jobs[2].why != "" }},
		{"Job urgent: 4 pods of higher priority", []string{"samples/multicluster/jobs/urgent.yaml"},
			"it waits, too", func(s state) bool { return s.jobs[3].waiting == 4 && s.jobs[3].why != "" }},
		{"", nil, "the first job has ended, and of those that wait, the urgent one runs first",
			func(s state) bool { return s.jobs[0].done == 5 && s.jobs[3].running == 4 && s.jobs[2].running == 0 }},
		{"", nil, "the third job runs once there is room", func(s state) bool { return s.jobs[2].running == 4 }},
	},
}}
