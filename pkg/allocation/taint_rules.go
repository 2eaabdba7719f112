// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"context"
	"encoding/json"
	"io"
	"time"

	resourcealpha "k8s.io/api/resource/v1alpha3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	resourcealphalisters "k8s.io/client-go/listers/resource/v1alpha3"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// laterTaintRules is the path where Kubernetes 1.36 serves DeviceTaintRules, if enabled. This client knows them only in v1alpha3,
// which has the same fields and more.
const laterTaintRules = "/apis/resource.k8s.io/v1beta2/devicetaintrules"

// askAgain is the time after which the reader asks again whether the API server serves DeviceTaintRules.
const askAgain = 5 * time.Minute

// taintRules reads DeviceTaintRules in the version that the API server serves. If the API server serves none, there are no
// rules, but taints in ResourceSlices still apply. It implements the interface of client-go's informer.
type taintRules struct {
	informer cache.SharedIndexInformer
}

func newTaintRules(kube kubernetes.Interface, factory informers.SharedInformerFactory) *taintRules {
	source := &taintRuleSource{kube: kube}
	return &taintRules{informer: factory.InformerFor(&resourcealpha.DeviceTaintRule{}, source.newInformer)}
}

// Informer implements DeviceTaintRuleInformer.
func (t *taintRules) Informer() cache.SharedIndexInformer { return t.informer }

// Lister implements DeviceTaintRuleInformer.
func (t *taintRules) Lister() resourcealphalisters.DeviceTaintRuleLister {
	return resourcealphalisters.NewDeviceTaintRuleLister(t.informer.GetIndexer())
}

// taintRuleSource lists and watches rules. Only one goroutine at a time may use it, because an informer lists before it watches.
type taintRuleSource struct {
	kube kubernetes.Interface
	// later says that the last list used laterTaintRules. none says that the API server serves no rules.
	later, none bool
}

func (s *taintRuleSource) newInformer(_ kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(&cache.ListWatch{ListWithContextFunc: s.list, WatchFuncWithContext: s.watch},
		&resourcealpha.DeviceTaintRule{}, resync, cache.Indexers{})
}

func (s *taintRuleSource) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	rules, err := s.kube.ResourceV1alpha3().DeviceTaintRules().List(ctx, options)
	s.later, s.none = false, false
	if !apierrors.IsNotFound(err) {
		return rules, err
	}
	s.later = true
	data, err := s.request(options).Do(ctx).Raw()
	if apierrors.IsNotFound(err) {
		s.none = true
		klog.InfoS("The API server serves no DeviceTaintRules that this scheduler can read; taints in ResourceSlices hold")
		return &resourcealpha.DeviceTaintRuleList{ListMeta: metav1.ListMeta{ResourceVersion: "0"}}, nil
	}
	if err != nil {
		return nil, err
	}
	rules = &resourcealpha.DeviceTaintRuleList{}
	return rules, json.Unmarshal(data, rules)
}

func (s *taintRuleSource) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	switch {
	case s.none:
		// This event makes the informer list again.
		again := apierrors.NewResourceExpired("the API server may serve DeviceTaintRules by now").Status()
		events := make(chan watch.Event, 1)
		time.AfterFunc(askAgain, func() { events <- watch.Event{Type: watch.Error, Object: &again} })
		return watch.NewProxyWatcher(events), nil
	case !s.later:
		return s.kube.ResourceV1alpha3().DeviceTaintRules().Watch(ctx, options)
	}
	options.Watch = true
	stream, err := s.request(options).Stream(ctx)
	if err != nil {
		return nil, err
	}
	return watch.NewStreamWatcher(&taintRuleDecoder{stream: stream, json: json.NewDecoder(stream)}, apierrors.NewClientErrorReporter(500, "GET", "ClientWatchDecoding")), nil
}

// request asks for JSON, because the client does not know the kind in this version.
func (s *taintRuleSource) request(options metav1.ListOptions) *rest.Request {
	return s.kube.ResourceV1beta2().RESTClient().Get().AbsPath(laterTaintRules).VersionedParams(&options, scheme.ParameterCodec).SetHeader("Accept", "application/json")
}

type taintRuleDecoder struct {
	stream io.ReadCloser
	json   *json.Decoder
}

// Decode implements watch.Decoder.
func (d *taintRuleDecoder) Decode() (watch.EventType, runtime.Object, error) {
	var event metav1.WatchEvent
	if err := d.json.Decode(&event); err != nil {
		return "", nil, err
	}
	var object runtime.Object = &resourcealpha.DeviceTaintRule{}
	if event.Type == string(watch.Error) {
		object = &metav1.Status{}
	}
	return watch.EventType(event.Type), object, json.Unmarshal(event.Object.Raw, object)
}

// Close implements watch.Decoder.
func (d *taintRuleDecoder) Close() { _ = d.stream.Close() }
