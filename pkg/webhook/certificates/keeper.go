// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/devicequota/devicequota/pkg/conflict"
)

// The Secret and the webhook configuration are compared at these intervals.
const (
	period      = time.Minute
	retryPeriod = 2 * time.Second
)

// Keeper creates, renews, and serves the certificates of a webhook.
type Keeper struct {
	Client kubernetes.Interface
	// Namespace and Secret name the Secret, which must exist and may be empty.
	Namespace, Secret string
	// Configuration is the name of the ValidatingWebhookConfiguration that gets the authorities.
	Configuration string
	// Names are the DNS names of the server. There is at least one.
	Names []string
	// Now returns the time.
	Now func() time.Time

	state atomic.Pointer[state]
	// ready reports whether API servers have the authorities.
	ready atomic.Bool
}

// Run keeps the certificates until the context ends.
func (k *Keeper) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		next := period
		if err := k.Sync(ctx); err != nil && ctx.Err() == nil {
			klog.ErrorS(err, "Cannot keep the certificates of the webhook, try again", "after", retryPeriod)
			next = retryPeriod
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait.Jitter(next, 0.1)):
		}
	}
	return nil
}

// Sync reads the Secret, renews a certificate that is close to its end, and publishes the authorities.
func (k *Keeper) Sync(ctx context.Context) error {
	var s state
	err := conflict.Retry(func() (err error) {
		s, err = k.share(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("share certificates in Secret %s/%s: %w", k.Namespace, k.Secret, err)
	}
	bundle, err := s.bundle()
	if err != nil {
		return err
	}
	err = conflict.Retry(func() error { return k.publish(ctx, bundle) })
	// The certificates of other replicas are served even if the publication fails.
	k.state.Store(&s)
	if err != nil {
		return fmt.Errorf("write caBundle of ValidatingWebhookConfiguration %s: %w", k.Configuration, err)
	}
	k.ready.Store(true)
	return nil
}

// share returns the certificates of all replicas. If two replicas renew them at the same time, one update fails with a conflict.
func (k *Keeper) share(ctx context.Context) (state, error) {
	secrets := k.Client.CoreV1().Secrets(k.Namespace)
	secret, err := secrets.Get(ctx, k.Secret, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return state{}, errors.New("it does not exist: create it without data, as config/webhook does")
	}
	if err != nil {
		return state{}, err
	}
	s := readState(secret, k.Names, k.Now())
	renewed, err := s.renew(k.Names, k.Now())
	if err != nil || !renewed {
		return s, err
	}
	secret = secret.DeepCopy()
	s.write(secret)
	if _, err := secrets.Update(ctx, secret, metav1.UpdateOptions{}); err != nil {
		return state{}, err
	}
	klog.InfoS("Made a certificate for the webhook", "secret", klog.KObj(secret), "validUntil", s.newest.serving.Leaf.NotAfter, "usedFrom", s.usedFrom())
	return s, nil
}

// usedFrom returns the time from which the newest certificate is served.
func (s *state) usedFrom() time.Time {
	if s.previous == nil {
		return s.newest.serving.Leaf.NotBefore
	}
	return s.newest.inUse()
}

// publish writes the trusted authorities into the webhook configuration.
func (k *Keeper) publish(ctx context.Context, bundle []byte) error {
	configurations := k.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configuration, err := configurations.Get(ctx, k.Configuration, metav1.GetOptions{})
	if err != nil {
		return err
	}
	configuration = configuration.DeepCopy()
	differs := false
	for i := range configuration.Webhooks {
		client := &configuration.Webhooks[i].ClientConfig
		differs = differs || !bytes.Equal(client.CABundle, bundle)
		client.CABundle = bundle
	}
	if !differs {
		return nil
	}
	_, err = configurations.Update(ctx, configuration, metav1.UpdateOptions{})
	return err
}

// GetCertificate returns the certificate to serve, for a tls.Config.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	s := k.state.Load()
	if s == nil {
		return nil, errors.New("there is no certificate yet")
	}
	return s.serving(k.Now()), nil
}

// Ready returns an error until API servers have the authorities.
func (k *Keeper) Ready() error {
	if !k.ready.Load() {
		return errors.New("API servers do not trust the certificate yet: see the log")
	}
	return nil
}
