// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

func (w *world) secret() *corev1.Secret {
	w.Helper()
	secret, err := w.client.CoreV1().Secrets(namespace).Get(w.Context(), "certificates", metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return secret
}

func (w *world) put(data map[string][]byte) {
	w.Helper()
	secret := w.secret()
	secret.Data = data
	if _, err := w.client.CoreV1().Secrets(namespace).Update(w.Context(), secret, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// ahead returns a replica whose clock is ahead.
func (w *world) ahead(d time.Duration) *Keeper {
	k := w.keeper()
	k.Now = func() time.Time { return w.clock.Now().Add(d) }
	return k
}

func TestReplicasServeWithoutTheSecretUntilItIsBack(t *testing.T) {
	w := newWorld(t)
	a, b := w.keeper(), w.keeper()
	w.sync(a, b)
	secret := w.secret()
	if err := w.client.CoreV1().Secrets(namespace).Delete(t.Context(), secret.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, k := range []*Keeper{a, b} {
		if err := k.Sync(t.Context()); err == nil || k.Ready() != nil {
			t.Errorf("%v, ready: %v", err, k.Ready())
		}
		w.trusts(w.bundle(), k)
	}
	secret.Data = nil
	if _, err := w.client.CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.sync(a, b)
	w.trusts(w.bundle(), a)
	w.trusts(w.bundle(), b)
}

func TestTheClockOfAReplicaMayBeWrong(t *testing.T) {
	for _, off := range []time.Duration{-26 * time.Hour, -10 * time.Minute, 30 * time.Minute, 26 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			w := newWorld(t)
			wrong, right := w.ahead(off), w.keeper()
			for range 3 {
				w.sync(wrong, right, wrong)
				w.trusts(w.bundle(), right)
				w.trusts(w.bundle(), wrong)
				before := w.secret()
				w.sync(right, wrong, right)
				if !bytes.Equal(before.Data[corev1.TLSCertKey], w.secret().Data[corev1.TLSCertKey]) {
					t.Error("the replicas replace each other's certificates without end")
				}
				w.clock.SetTime(w.clock.Now().Add(lifetime - renewBefore))
			}
		})
	}
}

func TestACertificateThatAPIServersWouldNotTrustIsReplaced(t *testing.T) {
	w := newWorld(t)
	w.sync(w.keeper())
	now := w.clock.Now()
	for what, change := range map[string]func(authority, leaf *x509.Certificate){
		"an authority that has ended":    func(authority, _ *x509.Certificate) { authority.NotAfter = now.Add(-time.Second) },
		"a certificate of a client":      func(_, leaf *x509.Certificate) { leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} },
		"a certificate of later":         func(_, leaf *x509.Certificate) { leaf.NotBefore = now.Add(time.Hour) },
		"a certificate of another name":  func(_, leaf *x509.Certificate) { leaf.DNSNames = []string{"other"} },
		"an authority for no such names": func(authority, _ *x509.Certificate) { authority.PermittedDNSDomains = []string{"example.com"} },
	} {
		authority := x509.Certificate{NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime), BasicConstraintsValid: true, IsCA: true, KeyUsage: x509.KeyUsageCertSign}
		leaf := x509.Certificate{NotBefore: now.Add(-time.Hour), NotAfter: now.Add(lifetime), DNSNames: []string{name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
		change(&authority, &leaf)
		w.put(map[string][]byte{corev1.TLSCertKey: nil})
		w.put(certified(t, &authority, &leaf))
		k := w.keeper()
		w.sync(k)
		w.trusts(w.bundle(), k)
		if t.Failed() {
			t.Fatal(what)
		}
	}
}

// certified returns the data of a Secret with a certificate from another source.
func certified(t *testing.T, authority, leaf *x509.Certificate) map[string][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := sign(authority, authority, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := sign(leaf, signer, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certPEM, err := cert.EncodeCertificates(signed, signer)
	if err != nil {
		t.Fatal(err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{corev1.TLSCertKey: certPEM, corev1.TLSPrivateKeyKey: keyPEM}
}
