// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"testing"
	"time"

	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
)

func TestDevicesHaveAsLongToGetReadyAsWithKubeScheduler(t *testing.T) {
	if want := dynamicresources.BindingTimeoutDefaultSeconds * time.Second; DefaultBindingTimeout != want {
		t.Errorf("the default of %s is %v, and that of kube-scheduler is %v", BindingTimeout, DefaultBindingTimeout, want)
	}
}
