// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

const (
	// lifetime is the validity of a certificate. renewBefore is the time before its end at which the next one is created.
	lifetime    = 90 * 24 * time.Hour
	renewBefore = 30 * 24 * time.Hour
	// overlap is how long API servers know an authority before its certificate is used.
	overlap = time.Hour
	// skew is how far the clock of an API server may be behind the clock of the replica that creates a certificate.
	skew = time.Hour
)

// pair is a certificate and its key, as the Secret has them, and as servers need them.
type pair struct {
	// certPEM has the certificate, followed by its authority.
	certPEM, keyPEM []byte
	serving         *tls.Certificate
	authority       *x509.Certificate
}

// newPair creates a certificate for these DNS names, and an authority that signs nothing else.
func newPair(names []string, now time.Time) (*pair, error) {
	valid := x509.Certificate{NotBefore: now.Add(-skew), NotAfter: now.Add(lifetime), BasicConstraintsValid: true}
	ca, leaf := valid, valid
	ca.Subject.CommonName, ca.IsCA, ca.KeyUsage = names[0]+"-ca", true, x509.KeyUsageCertSign
	leaf.Subject, leaf.DNSNames = pkix.Name{CommonName: names[0]}, names
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	authority, err := sign(&ca, &ca, &caKey.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	certificate, err := sign(&leaf, authority, &key.PublicKey, caKey)
	if err != nil {
		return nil, err
	}
	certPEM, err := cert.EncodeCertificates(certificate, authority)
	if err != nil {
		return nil, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, err
	}
	return readPair(certPEM, keyPEM)
}

func sign(template, authority *x509.Certificate, key *ecdsa.PublicKey, by *ecdsa.PrivateKey) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, authority, key, by)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(der)
}

// readPair reads the output of newPair. It returns nil if both inputs are empty.
func readPair(certPEM, keyPEM []byte) (*pair, error) {
	if len(certPEM) == 0 && len(keyPEM) == 0 {
		return nil, nil
	}
	serving, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, err
	}
	if len(serving.Certificate) != 2 {
		return nil, fmt.Errorf("it has %d certificates, and not one and its authority", len(serving.Certificate))
	}
	authority, err := x509.ParseCertificate(serving.Certificate[1])
	if err != nil {
		return nil, err
	}
	if !authority.IsCA || serving.Leaf.CheckSignatureFrom(authority) != nil {
		return nil, errors.New("its second certificate is not the authority of the first")
	}
	return &pair{certPEM, keyPEM, &serving, authority}, nil
}

// check returns an error if an API server with the authority would not trust a server with these names. A replica with a wrong clock may have
// created a certificate of the future.
func (p *pair) check(names []string, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AddCert(p.authority)
	for _, name := range names {
		if _, err := p.serving.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: now}); err != nil {
			return err
		}
	}
	return nil
}

func (p *pair) due(now time.Time) bool { return now.After(p.serving.Leaf.NotAfter.Add(-renewBefore)) }

// inUse returns the time from which API servers know the authority of a pair.
func (p *pair) inUse() time.Time { return p.serving.Leaf.NotBefore.Add(skew + overlap) }
