// SPDX-License-Identifier: Apache-2.0

package capacity

import (
	"testing"

	"github.com/devicequota/devicequota/pkg/dispatcher/framework"
)

func TestWhatIsChargedWhenASessionOpens(t *testing.T) {
	ml, q := queue("ml"), queue("q", "parent=ml")
	for name, c := range map[string]struct {
		things []thing
		queue  string
		want   string
	}{
		"what was granted":                  {[]thing{job("a", "q", 4, granted)}, "q", "4"},
		"at each queue above":               {[]thing{job("a", "q", 4, granted)}, "root", "4"},
		"nothing while it waits":            {[]thing{job("a", "q", 4)}, "q", "0"},
		"what it needs, if that is more":    {[]thing{job("a", "q", 4, grantedFor(2))}, "q", "4"},
		"its grant, if that is more":        {[]thing{job("a", "q", 4, grantedFor(6))}, "q", "6"},
		"its grant, while growth is held":   {[]thing{job("a", "q", 4, grows(2))}, "q", "2"},
		"its grant, while it is taken back": {[]thing{job("a", "q", 4, returns)}, "q", "4"},
		"no more while it is taken back":    {[]thing{job("a", "q", 9, grantedFor(4), beingReturned)}, "q", "4"},
		"nothing when it is finished":       {[]thing{job("a", "q", 4, finished)}, "q", "0"},
		"what runs without a grant":         {[]thing{job("a", "q", 4, adopted)}, "q", "4"},
		"its grant, if it cannot be read":   {[]thing{job("a", "q", 4, grantedFor(3), cannotBeRead)}, "q", "3"},
		"root, if the queue is gone":        {[]thing{job("a", "gone", 4, granted)}, "root", "4"},
		"a PodGroup's reserve":              {[]thing{podGroup("g", "q", 6, granted)}, "q", "6"},
		"a reserve and its pods, once":      {[]thing{podGroup("g", "q", 6, granted), job("a", "q", 4, granted, inGroup("g"))}, "q", "6"},
		"the pods first, as well":           {[]thing{job("a", "q", 4, granted, inGroup("g")), podGroup("g", "q", 6, granted)}, "q", "6"},
		"more pods than are reserved":       {[]thing{podGroup("g", "q", 6, granted), job("a", "q", 4, granted, inGroup("g")), job("b", "q", 4, granted, inGroup("g"))}, "q", "8"},
		"pods of another group":             {[]thing{podGroup("g", "q", 6, granted), job("a", "q", 4, granted, inGroup("h"))}, "q", "10"},
		"pods that name another group now":  {[]thing{podGroup("g", "q", 6, granted), job("a", "q", 4, granted, inGroup("g"), namesNoGroup)}, "q", "6"},
		"pods that cannot be read now":      {[]thing{podGroup("g", "q", 6, granted), job("a", "q", 4, grantedFor(4), inGroup("g"), cannotBeRead)}, "q", "6"},
		"pods of another queue":             {[]thing{podGroup("g", "q", 6, granted), job("a", "ml", 4, granted, inGroup("g"))}, "root", "10"},
	} {
		t.Run(name, func(t *testing.T) {
			_, p := newScene(append(c.things, ml, q)...).open(t)
			if got := used(p, c.queue, "cpu"); got != c.want {
				t.Errorf("queue %s is charged %s, want %s", c.queue, got, c.want)
			}
		})
	}
}

func namesNoGroup(w *framework.Workload) { w.Template.Group = "" }

// TestAReserveThatPodsUseIsNobodyElses: pods that leave their group run on, so others must not use their part of the reserve.
func TestAReserveThatPodsUseIsNobodyElses(t *testing.T) {
	for name, change := range map[string]func(*framework.Workload){"they name no group any more": namesNoGroup, "they cannot be read any more": cannotBeRead} {
		t.Run(name, func(t *testing.T) {
			s := newScene(queue("q", "cpu=8"), podGroup("g", "q", 8, granted), job("a", "q", 8, grantedFor(8), inGroup("g"), change), job("w", "q", 8, inGroup("g")))
			_, p := s.open(t)
			if p.allocatable(s.workload("w")) == nil {
				t.Error("8 cpus of 8 are in use, and 8 more are granted")
			}
		})
	}
}

func TestDecisionsChangeTheCharges(t *testing.T) {
	s := newScene(queue("q"), job("a", "q", 4), job("b", "q", 3, grows(1)), podGroup("g", "q", 5), job("c", "q", 2, inGroup("g")))
	session, p := s.open(t)
	for _, step := range []struct {
		what string
		do   func(*framework.Workload)
		of   string
		want string
	}{
		{"nothing but the grant", func(*framework.Workload) {}, "a", "1"},
		{"a workload is granted room", session.Allocate, "a", "5"},
		{"growth is granted", session.Allocate, "b", "7"},
		{"a workload of a group is granted room", session.Allocate, "c", "9"},
		{"the group reserves what is left", session.Allocate, "g", "12"},
		{"a grant of the group ends", session.Deallocate, "c", "12"},
		{"the reserve ends", session.Deallocate, "g", "7"},
		{"a grant ends", session.Deallocate, "a", "3"},
		{"it ends twice", session.Deallocate, "a", "3"},
	} {
		step.do(s.workload(step.of))
		if got := used(p, "q", "cpu"); got != step.want {
			t.Errorf("%s: the queue is charged %s, want %s", step.what, got, step.want)
		}
	}
}
