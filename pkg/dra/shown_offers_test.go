// SPDX-License-Identifier: Apache-2.0

package dra

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// listed returns the quantity of a resource that a node lists, or -1.
func listed(n *corev1.Node, name corev1.ResourceName) int64 {
	quantity, found := n.Status.Allocatable[name]
	if !found {
		return -1
	}
	return quantity.Value()
}

func TestShowingOffersCanBeUndone(t *testing.T) {
	before := offersOf([]*resourceapi.DeviceClass{gpuClass("gpus", gpu), gpuClass("more", "example.com/more")}, []*resourceapi.ResourceSlice{gpusOn("n1", 8)})
	fewer := offersOf([]*resourceapi.DeviceClass{gpuClass("gpus", gpu)}, []*resourceapi.ResourceSlice{gpusOn("n1", 4)})
	annotated := node("n1", "v1.34.1", listing("cpu", "4"))
	annotated.Annotations = map[string]string{"example.com/owner": "team"}
	unhealthy := node("n1", "v1.35.0", listing(gpu, "0"))
	unhealthy.Status.Capacity[gpu] = resource.MustParse("8")
	for name, given := range map[string]*corev1.Node{
		"a node without lists": node("n1", "v1.34.1", nil), "a node with annotations": annotated,
		"a node whose devices of a device plugin are unhealthy": unhealthy,
	} {
		kept := given.DeepCopy()
		shown := ShowOffers(given, before)
		if got := listed(shown, gpu); got != 8 || listed(shown, "example.com/more") != 8 {
			t.Errorf("%s lists %d, want 8", name, got)
		}
		if capacity := shown.Status.Capacity[gpu]; capacity.Value() != 8 {
			t.Errorf("%s has a capacity of %s, want 8", name, capacity.String())
		}
		if want := []corev1.ResourceName{"example.com/more", gpu}; !slices.Equal(Served(shown), want) || ServedKey(shown) != "example.com/more,nvidia.com/gpu" {
			t.Errorf("%s: DRA serves %v, want %v", name, Served(shown), want)
		}
		if again := ShowOffers(shown, before); again != shown {
			t.Errorf("%s is another one after the same offers are shown again", name)
		}
		if again := ShowOffers(shown, fewer); listed(again, gpu) != 4 || listed(again, "example.com/more") != -1 || ServedKey(again) != string(gpu) {
			t.Errorf("%s lists %d of %v after fewer are offered, want 4", name, listed(again, gpu), Served(again))
		}
		for _, undone := range []*corev1.Node{WithoutOffers(shown), ShowOffers(shown, nil), WithoutOffers(ShowOffers(shown, fewer))} {
			if !equality.Semantic.DeepEqual(undone, kept) || Served(undone) != nil {
				t.Errorf("%s: %+v, want %+v", name, undone, kept)
			}
		}
		if !equality.Semantic.DeepEqual(given, kept) {
			t.Errorf("%s has been changed", name)
		}
	}
}

func TestANodeThatIsOfferedNothingStaysItself(t *testing.T) {
	offers := offersOf([]*resourceapi.DeviceClass{gpuClass("gpus", gpu)}, []*resourceapi.ResourceSlice{gpusOn("n1", 8)})
	for _, n := range []*corev1.Node{node("n2", "v1.34.1", nil), node("n1", "v1.34.1", listing(gpu, "8"))} {
		if ShowOffers(n, offers) != n || WithoutOffers(n) != n || Served(n) != nil {
			t.Errorf("%s is another one", n.Name)
		}
	}
}

func TestTwoNodesOfAClusterAreServedDifferently(t *testing.T) {
	offers := offersOf([]*resourceapi.DeviceClass{gpuClass("gpus", gpu)}, []*resourceapi.ResourceSlice{gpusOn("n1", 8), gpusOn("n2", 8)})
	plugin, driver := ShowOffers(node("n1", "v1.35.0", listing(gpu, "4")), offers), ShowOffers(node("n2", "v1.35.0", nil), offers)
	if listed(plugin, gpu) != 4 || ServedKey(plugin) != "" || listed(driver, gpu) != 8 || ServedKey(driver) != string(gpu) {
		t.Errorf("%d and %d are listed", listed(plugin, gpu), listed(driver, gpu))
	}
}

// A node from the API server cannot contain the annotations that only ShowOffers adds.
func TestTheAPIServerAcceptsNoAnnotationThatIsMemory(t *testing.T) {
	for _, name := range []string{ServedAnnotation, listedAnnotation} {
		if len(validation.IsQualifiedName(name)) == 0 {
			t.Errorf("an annotation may have the name %s", name)
		}
	}
}

func TestWhatIsInUseStaysListed(t *testing.T) {
	offers := offersOf([]*resourceapi.DeviceClass{gpuClass("gpus", gpu)}, []*resourceapi.ResourceSlice{gpusOn("n1", 2)})
	using := func(number int64) func(corev1.ResourceName) int64 {
		return func(corev1.ResourceName) int64 { return number }
	}
	for _, c := range []struct {
		name  string
		node  *corev1.Node
		using int64
		want  int64
	}{
		{"less is in use than there are", node("n1", "v1.34.1", nil), 1, 2},
		{"a device that is in use has disappeared", node("n1", "v1.34.1", nil), 3, 3},
		{"all devices have disappeared", node("n2", "v1.34.1", nil), 3, 3},
		{"a device plugin serves", node("n1", "v1.34.1", listing(gpu, "1")), 3, 1},
		{"nothing is there and in use", node("n2", "v1.34.1", nil), 0, -1},
	} {
		if got := listed(ShowOffersInUse(c.node, offers, using(c.using)), gpu); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
