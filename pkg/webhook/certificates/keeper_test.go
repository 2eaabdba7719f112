// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

const (
	namespace = "volcano-system"
	name      = "vc-webhook.volcano-system.svc"
)

// world has the objects of an API server, and the time.
type world struct {
	*testing.T
	client *fake.Clientset
	clock  *clocktesting.FakePassiveClock
}

func newWorld(t *testing.T) *world {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "certificates"}}
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "vc-webhook"}}
	configuration.Webhooks = []admissionregistrationv1.ValidatingWebhook{{Name: "queues"}, {Name: "workloads"}}
	w := &world{t, fake.NewClientset(secret, configuration), clocktesting.NewFakePassiveClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))}
	w.client.PrependReactor("update", "secrets", w.conflict(secret.ResourceVersion))
	return w
}

// conflict refuses updates of changed objects, as an API server does.
func (w *world) conflict(version string) clienttesting.ReactionFunc {
	return func(action clienttesting.Action) (bool, runtime.Object, error) {
		secret := action.(clienttesting.UpdateAction).GetObject().(*corev1.Secret)
		if secret.ResourceVersion != version {
			return true, nil, apierrors.NewConflict(corev1.Resource("secrets"), secret.Name, nil)
		}
		version += "1"
		secret.ResourceVersion = version
		return false, nil, nil
	}
}

func (w *world) keeper(names ...string) *Keeper {
	return &Keeper{Client: w.client, Namespace: namespace, Secret: "certificates", Configuration: "vc-webhook", Names: append(names, name), Now: w.clock.Now}
}

func (w *world) sync(keepers ...*Keeper) {
	w.Helper()
	for _, k := range keepers {
		if err := k.Sync(w.Context()); err != nil {
			w.Fatal(err)
		}
	}
}

// pass advances the time while the replicas do their work.
func (w *world) pass(d time.Duration, keepers ...*Keeper) {
	w.Helper()
	w.clock.SetTime(w.clock.Now().Add(d))
	w.sync(keepers...)
}

func (w *world) serving(k *Keeper) *tls.Certificate {
	w.Helper()
	certificate, err := k.GetCertificate(nil)
	if err != nil {
		w.Fatal(err)
	}
	return certificate
}

func (w *world) bundle() []byte {
	w.Helper()
	configuration, err := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(w.Context(), "vc-webhook", metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	first, second := configuration.Webhooks[0].ClientConfig.CABundle, configuration.Webhooks[1].ClientConfig.CABundle
	if !bytes.Equal(first, second) {
		w.Error("the webhooks have different bundles")
	}
	return first
}

// trusts checks that an API server with a bundle trusts a replica's certificate.
func (w *world) trusts(bundle []byte, k *Keeper) {
	w.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	options := x509.VerifyOptions{DNSName: name, Roots: roots, CurrentTime: w.clock.Now()}
	if _, err := w.serving(k).Leaf.Verify(options); err != nil {
		w.Errorf("at %v: %v", w.clock.Now(), err)
	}
}

func TestAReplicaMakesACertificateThatAPIServersTrust(t *testing.T) {
	w := newWorld(t)
	k := w.keeper()
	if _, err := k.GetCertificate(nil); err == nil || k.Ready() == nil {
		t.Error("it is ready without a certificate")
	}
	w.sync(k)
	if err := k.Ready(); err != nil {
		t.Error(err)
	}
	w.trusts(w.bundle(), k)
}

// TestReplicasAgree even if all of them create or renew a certificate at the same time.
func TestReplicasAgree(t *testing.T) {
	w := newWorld(t)
	replicas := []*Keeper{w.keeper(), w.keeper(), w.keeper()}
	var behind []byte // the bundle of a slow API server
	atOnce := func() {
		t.Helper()
		var all sync.WaitGroup
		for _, k := range replicas {
			all.Go(func() {
				for range 3 {
					if err := k.Sync(t.Context()); err != nil {
						t.Error(err)
					}
					if behind != nil {
						w.trusts(behind, k)
					}
				}
			})
		}
		all.Wait()
	}
	agree := func() {
		t.Helper()
		for _, k := range replicas {
			w.trusts(w.bundle(), k)
			if !w.serving(k).Leaf.Equal(w.serving(replicas[0]).Leaf) {
				t.Error("replicas serve different certificates")
			}
		}
	}
	atOnce()
	agree()
	behind = w.bundle()
	w.clock.SetTime(w.clock.Now().Add(lifetime - renewBefore + time.Hour))
	atOnce()
	w.pass(overlap+time.Minute, replicas...)
	agree()
}

func TestCertificatesAreRenewedSoThatEveryAPIServerTrustsEveryReplica(t *testing.T) {
	w := newWorld(t)
	a, b := w.keeper(), w.keeper()
	w.sync(a, b)
	first, served := w.serving(a), map[string]bool{}
	behind, changed := w.bundle(), w.clock.Now() // the bundle of a slow API server
	for w.clock.Now().Before(first.Leaf.NotAfter.Add(2 * lifetime)) {
		// One replica and one API server are late by half an hour.
		step := overlap / 2
		if w.clock.Now().After(changed.Add(3 * overlap)) {
			step = 24 * time.Hour
		}
		w.pass(step, a)
		if !bytes.Equal(behind, w.bundle()) {
			changed = w.clock.Now()
		}
		for _, k := range []*Keeper{a, b} {
			w.trusts(w.bundle(), k)
			w.trusts(behind, k)
			served[w.serving(k).Leaf.SerialNumber.String()] = true
		}
		behind = w.bundle()
		w.sync(b)
		if left := w.serving(a).Leaf.NotAfter.Sub(w.clock.Now()); left < renewBefore-48*time.Hour {
			t.Fatalf("a certificate is served %v before its end", left)
		}
		if t.Failed() {
			return
		}
	}
	if len(served) < 4 {
		t.Errorf("%d certificates in three lifetimes", len(served))
	}
}

func TestACertificateThatCannotBeUsedIsReplacedAtOnce(t *testing.T) {
	for what, change := range map[string]func(data map[string][]byte) map[string][]byte{
		"text": func(data map[string][]byte) map[string][]byte { data[corev1.TLSCertKey] = []byte("x"); return data },
		"garbage": func(map[string][]byte) map[string][]byte {
			return map[string][]byte{corev1.TLSCertKey: []byte("x"), corev1.TLSPrivateKeyKey: []byte("y"), previousCertKey: {0}}
		},
		"no key":  func(data map[string][]byte) map[string][]byte { delete(data, corev1.TLSPrivateKeyKey); return data },
		"nothing": func(map[string][]byte) map[string][]byte { return nil },
		"no authority": func(data map[string][]byte) map[string][]byte {
			data[corev1.TLSCertKey] = firstBlock(data[corev1.TLSCertKey])
			return data
		},
		"nothing previous": func(data map[string][]byte) map[string][]byte { data[previousCertKey] = []byte("x"); return data },
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			a, b := w.keeper(), w.keeper()
			w.sync(a, b)
			first := w.serving(a)
			w.put(change(w.secret().Data))
			for _, k := range []*Keeper{a, b, w.keeper()} {
				w.sync(k)
				w.trusts(w.bundle(), k)
				if replaced := !w.serving(k).Leaf.Equal(first.Leaf); replaced != (what != "nothing previous") {
					t.Errorf("another certificate is served: %t", replaced)
				}
			}
			w.trusts(w.bundle(), a)
		})
	}
}

func firstBlock(pem []byte) []byte {
	const end = "-----END CERTIFICATE-----\n"
	first, _, _ := bytes.Cut(pem, []byte(end))
	return append(first, end...)
}

func TestAnotherServiceGetsAnotherCertificate(t *testing.T) {
	w := newWorld(t)
	w.sync(w.keeper())
	renamed := w.keeper("other.volcano-system.svc")
	w.sync(renamed)
	if err := w.serving(renamed).Leaf.VerifyHostname("other.volcano-system.svc"); err != nil {
		t.Error(err)
	}
	w.trusts(w.bundle(), renamed)
}

func TestACABundleThatSomebodyRemovesComesBack(t *testing.T) {
	w := newWorld(t)
	k := w.keeper()
	w.sync(k)
	configurations := w.client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration, err := configurations.Get(t.Context(), "vc-webhook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	configuration.Webhooks[1].ClientConfig.CABundle = nil
	if _, err := configurations.Update(t.Context(), configuration, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(k)
	w.trusts(w.bundle(), k)
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	w := newWorld(t)
	k := w.keeper()
	k.Secret = "other"
	if err := k.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "Secret volcano-system/other: it does not exist: create it without data") {
		t.Error(err)
	}
	k = w.keeper()
	k.Configuration = "other"
	if err := k.Sync(t.Context()); err == nil || !strings.Contains(err.Error(), "ValidatingWebhookConfiguration other") || k.Ready() == nil {
		t.Error(err)
	}
}
