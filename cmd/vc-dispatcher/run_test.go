// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/devicequota/devicequota/pkg/metric"
)

// TestTheMetricOfTheLeaderHasTheNameOfTheLease checks the label that the alert about a missing leader selects. The manager uses the ID as this name.
func TestTheMetricOfTheLeaderHasTheNameOfTheLease(t *testing.T) {
	if id := managerOptions(defaultOptions(), nil, nil).LeaderElectionID; id != metric.DispatcherLease {
		t.Errorf("leader_election_master_status has the name %q, want %q", id, metric.DispatcherLease)
	}
}

func TestTheDispatcherHasAUserOfItsOwn(t *testing.T) {
	own := &authenticationv1.UserInfo{Username: "system:serviceaccount:volcano-system:vc-dispatcher", Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	if name, err := ownName(own); err != nil || name != own.Username {
		t.Errorf("%q, %v", name, err)
	}
	shared := &authenticationv1.UserInfo{Username: "system:admin", Groups: []string{"system:masters", "system:authenticated"}}
	if name, err := ownName(shared); err == nil || !strings.Contains(err.Error(), "user system:admin is in the group system:masters") {
		t.Errorf("the user of Karmada's components is taken for the dispatcher's: %q, %v", name, err)
	}
}
