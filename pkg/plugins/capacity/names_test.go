// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"

	"volcano.sh/volcano/pkg/scheduler/conf"
	"volcano.sh/volcano/pkg/scheduler/framework"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// TestTheSecondNameIsLeftOut: a configuration with the plugin under both names works with the first one.
func TestTheSecondNameIsLeftOut(t *testing.T) {
	s := newFixture(8).queue("root", "", nil).queue("q", "root", nil).stocked(2)
	s.withDevices(map[string]schedulingv1beta1.DRAQuota{"q": {Capability: counts(1)}})
	s.Plugins = map[string]framework.PluginBuilder{CardName: func(arguments framework.Arguments) framework.Plugin {
		return &plugin{cache: s.cache, arguments: readArguments(CardName, arguments)}
	}}
	s.extra = []conf.PluginOption{{Name: CardName}}
	s.job("j", "q", inqueue, nil, s.claimed(1, newPod("fits", "", cpu(1))))
	s.job("k", "q", inqueue, nil, s.claimed(1, newPod("waits", "", cpu(1))))
	ssn := s.act(t)
	if got := statuses(ssn); got != "fits:Binding waits:Pending" && got != "fits:Pending waits:Binding" {
		t.Errorf("pods are %s", got)
	}
	framework.CloseSession(ssn)
}
