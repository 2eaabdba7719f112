// SPDX-License-Identifier: Apache-2.0

package main

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
