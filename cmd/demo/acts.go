// SPDX-License-Identifier: Apache-2.0

package main

// acts show quotas of devices and cards.
var acts = []act{
	{
		title:   "Two nodes with eight H100 each; queue ml-team may use 8 of them (config/samples/cluster)",
		samples: []string{"samples/cluster", "samples/jobs/claim-template.yaml"},
		jobs:    []job{{"first", 6}, {"second", 4}}, devices: 8,
		chapters: []chapter{
			{"Job first: 6 pods with one H100 each (config/samples/jobs)", []string{"samples/jobs/first.yaml"},
				"the first job runs", func(s state) bool { return s.jobs[0].running == 6 }},
			{"Job second: 4 pods with one H100 each", []string{"samples/jobs/second.yaml"},
				"the second job waits, and its PodGroup has an event that says why",
				func(s state) bool { return s.jobs[0].running == 6 && s.jobs[1].waiting == 4 && s.jobs[1].why != "" }},
			{"", nil, "the first job has ended and the second runs", func(s state) bool { return s.jobs[0].done == 6 && s.jobs[1].running == 4 }},
			{"", nil, "the second job has ended", func(s state) bool { return s.jobs[1].done == 4 && s.inUse() == 0 }},
		},
	},
	{
		title:   "Two more nodes with eight H800 each, from a device plugin; queue moving-team may use 8 H800 and 4 H100 (config/samples/mixed)",
		samples: []string{"samples/mixed/nodes.yaml", "samples/mixed/queue.yaml"},
		jobs:    []job{{"both", 6}, {"more", 6}}, devices: 4, cards: 8,
		chapters: []chapter{
			{"Job both: 4 pods with an H800 of the device plugin, 2 pods with an H100 of DRA", []string{"samples/mixed/both.yaml"},
				"one job uses both", func(s state) bool { return s.jobs[0].running == 6 && s.cards == 4 && s.inUse() == 2 }},
			{"Job more: 6 pods with an H800 each", []string{"samples/mixed/more.yaml"},
				"the job waits for the card quota and says so", func(s state) bool { return s.jobs[0].running == 6 && s.jobs[1].waiting == 6 && s.jobs[1].why != "" }},
			{"", nil, "the job runs once the first one has released its cards", func(s state) bool { return s.jobs[0].done == 6 && s.jobs[1].running == 6 && s.cards == 6 }},
		},
	},
}

// migrationActs show nodes that change from a device plugin to DRA.
var migrationActs = []act{{
	title: "Two nodes with four H800 each, from a device plugin; queue pool-team may use 6 of them (config/samples/migration)",
	samples: []string{
		"samples/migration/nodes.yaml", "samples/migration/queue.yaml", "samples/migration/deviceclass.yaml",
	},
	jobs: []job{{"train", 24}}, devices: 6, cards: 6, pool: []string{"pool-0", "pool-1"},
	chapters: []chapter{
		{"Job train: 24 pods that request nvidia.com/gpu: 1 and run for 4 seconds", []string{"samples/migration/train.yaml"},
			"six pods run on both nodes, and the others wait for the quota",
			func(s state) bool { return s.cards == 6 && s.pool[1].plugin > 0 && s.jobs[0].why != "" }},
		{"Half of the nodes move: pool-1 is cordoned", []string{"samples/migration/steps/1-cordon.yaml"},
			"its pods have ended, and the job goes on with four cards", func(s state) bool { return s.cards == 4 && s.pool[1] == (served{}) }},
		{"The device plugin of pool-1 stops, the DRA driver starts, and pods come to the node again",
			[]string{"samples/migration/steps/2-driver.yaml", "samples/migration/steps/3-uncordon.yaml"},
			"the same job has cards of the device plugin and of DRA, and the quota of six holds for both together",
			func(s state) bool { return s.cards == 6 && s.pool[0].plugin == 4 && s.pool[1].dra == 2 }},
		{"", nil, "the job has ended", func(s state) bool { return s.jobs[0].done == 24 && s.cards == 0 }},
	},
}}

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
