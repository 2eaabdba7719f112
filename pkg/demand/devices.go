package demand

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"

	"github.com/devicequota/devicequota/pkg/dra"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// Devices is what a pod asks for through its ResourceClaims.
type Devices struct {
	ledger.Demand
	// Open lists the dimensions that the pod asks for in a number that is only known once
	// its claims are allocated.
	Open []ledger.Ordinal
}

// OfPod returns what the claims of a pod ask for, or hold once they are allocated. An
// error says why the pod cannot be counted, naming the object that is missing or wrong.
func OfPod(pod *corev1.Pod, source dra.Source, dimensions *ledger.Dimensions) (Devices, error) {
	claims, err := dra.Claims(pod, source)
	if err != nil {
		return Devices{}, err
	}
	var devices Devices
	for _, claim := range claims {
		usage, err := dra.Of(claim)
		if err != nil {
			return Devices{}, err
		}
		if err := dra.CheckClasses(claim, usage, source); err != nil {
			return Devices{}, err
		}
		part, err := partOf(claim, usage, dimensions)
		if err != nil {
			return Devices{}, err
		}
		devices.Demand = append(devices.Demand, part)
		for _, class := range usage.Open {
			devices.Open = append(devices.Open, count(class, dimensions))
		}
	}
	return devices, nil
}

// OfClaim returns the part of a demand that one claim makes, whoever uses it.
func OfClaim(claim *resourceapi.ResourceClaim, dimensions *ledger.Dimensions) (ledger.Part, error) {
	usage, err := dra.Of(claim)
	if err != nil {
		return ledger.Part{}, err
	}
	return partOf(claim, usage, dimensions)
}

func partOf(claim *resourceapi.ResourceClaim, usage dra.Usage, dimensions *ledger.Dimensions) (ledger.Part, error) {
	part := ledger.Part{Key: KeyOf(claim)}
	for _, d := range usage.Devices {
		var err error
		if part.Amounts, err = part.Amounts.Plus(count(d.Class, dimensions), ledger.Units(d.Count)); err != nil {
			return ledger.Part{}, fmt.Errorf("ResourceClaim %s/%s: devices of class %s: %w", claim.Namespace, claim.Name, d.Class, err)
		}
	}
	return part, nil
}

// KeyOf is the key under which the ledger carries a claim's devices.
func KeyOf(claim *resourceapi.ResourceClaim) ledger.Key {
	return ledger.Key(claim.UID)
}

func count(class string, dimensions *ledger.Dimensions) ledger.Ordinal {
	return dimensions.Ordinal(ledger.Dimension{Kind: ledger.DeviceCount, Name: class})
}
