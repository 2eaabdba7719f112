// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// certLifetime is longer than any development cluster runs.
const certLifetime = 365 * 24 * time.Hour

// pki is the cluster's certificate authority. It is created at every start.
type pki struct {
	dir  string
	key  crypto.Signer
	cert *x509.Certificate
}

// identity is the user and the groups of a client.
type identity struct {
	user   string
	groups []string
}

func newPKI(dir string) (*pki, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	ca, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "devcluster"}, key)
	if err != nil {
		return nil, err
	}
	p := &pki{dir: dir, key: key, cert: ca}
	if err := os.WriteFile(p.caFile(), p.caPEM(), 0o600); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *pki) caFile() string              { return filepath.Join(p.dir, "ca.crt") }
func (p *pki) certFile(name string) string { return filepath.Join(p.dir, name+".crt") }
func (p *pki) keyFile(name string) string  { return filepath.Join(p.dir, name+".key") }

func (p *pki) caPEM() []byte {
	return encodeCert(p.cert.Raw)
}

// issue returns a certificate and its key, for a server on the loopback interface and for a client.
func (p *pki) issue(who identity) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: who.user, Organization: who.groups},
		DNSNames:     []string{"localhost", "kubernetes.default.svc"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(certLifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, p.cert, key.Public(), p.key)
	if err != nil {
		return nil, nil, fmt.Errorf("certificate for %s: %w", who.user, err)
	}
	keyPEM, err = keyutil.MarshalPrivateKeyToPEM(key)
	return encodeCert(der), keyPEM, err
}

// issueFiles writes a certificate and its key into files of that name.
func (p *pki) issueFiles(name string, who identity) error {
	certPEM, keyPEM, err := p.issue(who)
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.certFile(name), certPEM, 0o600); err != nil {
		return err
	}
	return os.WriteFile(p.keyFile(name), keyPEM, 0o600)
}

// serviceAccountKey returns the file with the key that signs the tokens of service accounts. It creates the file if it does not exist. It
// keeps the key of an earlier run, so tokens in the state folder stay valid.
func (p *pki) serviceAccountKey() (string, error) {
	file := p.keyFile("service-account")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	keyPEM, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return "", err
	}
	return file, os.WriteFile(file, keyPEM, 0o600)
}

func encodeCert(der []byte) []byte {
	pem, err := cert.EncodeCertificates(&x509.Certificate{Raw: der})
	if err != nil {
		panic(err) // unreachable: writing to memory does not fail
	}
	return pem
}
