// SPDX-License-Identifier: Apache-2.0

package queueschema

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/devicequota/devicequota/pkg/client/clientset/versioned/scheme"
)

// ProbePeriod is the time between two regular probes.
const ProbePeriod = 15 * time.Second

const (
	// probeObject has spec.dra, and a field that no version of the CRD has. The API server refuses it when decoding it,
	// and names all unknown fields.
	probeObject = `{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{"name":"devicequota-probe"},"spec":{"dra":{},"devicequotaProbe":true}}`

	// UnknownDRA is in the answer of an API server that refuses spec.dra.
	UnknownDRA   = `unknown field "spec.dra"`
	unknownProbe = `unknown field "spec.devicequotaProbe"`
)

// ServesDRA asks the API server whether it serves spec.dra of queues. An error means that this is unknown.
//
// It requests a dry run of a creation with strict field validation. The handler of queues refuses it based on the
// schema in force. OpenAPI documents can be seconds behind. The refusal comes before admission: no webhook is called,
// and even without dry run, nothing would be created. It needs the permission to create queues.
func ServesDRA(ctx context.Context, client rest.Interface) (bool, error) {
	err := client.Post().Resource("queues").
		VersionedParams(&metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}, scheme.ParameterCodec).
		SetHeader("Content-Type", "application/json").Body([]byte(probeObject)).
		Do(ctx).Error()
	switch {
	case err == nil:
		return false, errors.New("the API server accepts a queue with a field that does not exist, so that it does not validate fields strictly")
	case apierrors.IsBadRequest(err) && strings.Contains(err.Error(), unknownProbe):
		return !strings.Contains(err.Error(), UnknownDRA), nil
	default:
		return false, fmt.Errorf("dry run of the creation of a queue: %w", err)
	}
}
