// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"cmp"
	"crypto/tls"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"
)

// The keys of the former certificate. The newest one has the usual keys of Secrets.
const (
	previousCertKey = "previous.crt"
	previousKeyKey  = "previous.key"
)

// state is the content of the Secret. Previous may be nil.
type state struct {
	newest, previous *pair
}

// readState reads the Secret without unusable certificates.
func readState(secret *corev1.Secret, names []string, now time.Time) state {
	read := func(certKey, keyKey string) *pair {
		p, err := readPair(secret.Data[certKey], secret.Data[keyKey])
		if err == nil && p != nil {
			err = p.check(names, now)
		}
		if err != nil {
			klog.ErrorS(err, "A certificate cannot be used, and is left out", "secret", klog.KObj(secret), "key", certKey)
			return nil
		}
		return p
	}
	return state{read(corev1.TLSCertKey, corev1.TLSPrivateKeyKey), read(previousCertKey, previousKeyKey)}
}

// renew adds a certificate if the newest one is close to its end. It reports whether it added one.
func (s *state) renew(names []string, now time.Time) (bool, error) {
	if s.newest != nil && !s.newest.due(now) {
		return false, nil
	}
	p, err := newPair(names, now)
	if err != nil {
		return false, err
	}
	s.newest, s.previous = p, cmp.Or(s.newest, s.previous)
	return true, nil
}

// write puts the certificates into the Secret.
func (s *state) write(secret *corev1.Secret) {
	secret.Data = map[string][]byte{corev1.TLSCertKey: s.newest.certPEM, corev1.TLSPrivateKeyKey: s.newest.keyPEM}
	if s.previous != nil {
		secret.Data[previousCertKey], secret.Data[previousKeyKey] = s.previous.certPEM, s.previous.keyPEM
	}
}

// serving returns the certificate to serve now.
func (s *state) serving(now time.Time) *tls.Certificate {
	if s.previous != nil && now.Before(s.newest.inUse()) && now.Before(s.previous.serving.Leaf.NotAfter) {
		return s.previous.serving
	}
	return s.newest.serving
}

// bundle returns the authorities of all certificates that a replica may serve.
func (s *state) bundle() ([]byte, error) {
	if s.previous == nil {
		return cert.EncodeCertificates(s.newest.authority)
	}
	return cert.EncodeCertificates(s.newest.authority, s.previous.authority)
}
