// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	batchapi "volcano.sh/apis/pkg/apis/batch/v1alpha1"
	schedulingapi "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	volcano "volcano.sh/apis/pkg/client/clientset/versioned"
	"volcano.sh/apis/pkg/client/clientset/versioned/scheme"
	batchclient "volcano.sh/apis/pkg/client/clientset/versioned/typed/batch/v1alpha1"
	schedulingclient "volcano.sh/apis/pkg/client/clientset/versioned/typed/scheduling/v1beta1"

	"github.com/devicequota/devicequota/pkg/dispatcher/workload"
)

// volcanoClients reads Volcano Jobs and PodGroups even if users have written unreadable ones.
type volcanoClients struct {
	volcano.Interface
	batch      batchclient.BatchV1alpha1Interface
	scheduling schedulingclient.SchedulingV1beta1Interface
}

func (v *volcanoClients) BatchV1alpha1() batchclient.BatchV1alpha1Interface { return v.batch }

func (v *volcanoClients) SchedulingV1beta1() schedulingclient.SchedulingV1beta1Interface {
	return v.scheduling
}

func newVolcano(config *rest.Config, shared *http.Client) (volcano.Interface, error) {
	all, err := volcano.NewForConfigAndClient(config, shared)
	if err != nil {
		return nil, err
	}
	batch, err := tolerantClient(config, shared, batchapi.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	scheduling, err := tolerantClient(config, shared, schedulingapi.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	return &volcanoClients{all, batchclient.New(batch), schedulingclient.New(scheduling)}, nil
}

func tolerantClient(config *rest.Config, shared *http.Client, version schema.GroupVersion) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &version, "/apis"
	config.NegotiatedSerializer = tolerantSerializer{rest.CodecFactoryForGeneratedClient(scheme.Scheme, scheme.Codecs).WithoutConversion()}
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	return rest.RESTClientForConfigAndClient(config, shared)
}

// tolerantSerializer decodes objects as workload.Tolerant does.
type tolerantSerializer struct{ runtime.NegotiatedSerializer }

// DecoderToVersion implements runtime.NegotiatedSerializer.
func (s tolerantSerializer) DecoderToVersion(decoder runtime.Decoder, version runtime.GroupVersioner) runtime.Decoder {
	return workload.Tolerant(s.NegotiatedSerializer.DecoderToVersion(decoder, version))
}
