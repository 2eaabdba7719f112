// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	_ "embed"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"time"

	clusterv1alpha1 "github.com/karmada-io/karmada/pkg/apis/cluster/v1alpha1"
	karmada "github.com/karmada-io/karmada/pkg/generated/clientset/versioned"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// memberTimeout limits how long Karmada may take to notice that a member is present or gone.
const memberTimeout = 2 * time.Minute

// memberObjects are the account for Karmada's access to a member.
//
//go:embed member.yaml
var memberObjects []byte

// member is a running member. Karmada reaches its API server only through endpoint, which can cut the connection.
type member struct {
	Member
	*Cluster
	endpoint *forwarder
}

// apiServers returns the address of the member's running API server.
func (m *member) apiServers() []string {
	return []string{local(m.Cluster.ports[APIServer][0])}
}

func (m *member) stop() error {
	m.endpoint.end()
	if m.Cluster == nil {
		return nil // it did not start
	}
	return m.Cluster.Stop()
}

func (k *Karmada) startMember(ctx context.Context, m *member) error {
	o := m.Options
	if o.Bin == "" {
		o.Bin = k.bin
	}
	if o.State == "" && k.options.State != "" {
		o.State = filepath.Join(k.state, "members", m.Name)
	}
	if o.OnReady == nil {
		o.OnReady = func(component string, took time.Duration) { k.report(m.Name+"/"+component, took) }
	}
	var err error
	if m.Cluster, err = Start(ctx, o); err != nil {
		return fmt.Errorf("member %s: %w", m.Name, err)
	}
	go func() {
		select {
		case err := <-m.Failed():
			k.fail(fmt.Errorf("member %s: %w", m.Name, err))
		case <-ctx.Done():
		}
	}()
	return nil
}

// register makes a cluster a member of Karmada in push mode, as karmadactl join does.
func (k *Karmada) register(ctx context.Context, m *member) error {
	began := time.Now()
	if err := m.ApplyYAML(ctx, "member.yaml", memberObjects); err != nil {
		return fmt.Errorf("member %s: %w", m.Name, err)
	}
	client, err := kubernetes.NewForConfig(m.Config())
	if err != nil {
		return err
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(certLifetime.Seconds()))}}
	token, err := client.CoreV1().ServiceAccounts("karmada-cluster").CreateToken(ctx, "karmada", request, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("member %s: a token for Karmada: %w", m.Name, err)
	}
	encode := base64.StdEncoding.EncodeToString
	err = k.ApplyYAML(ctx, "member "+m.Name, fmt.Appendf(nil, `
apiVersion: v1
kind: Secret
metadata: {name: %[1]s, namespace: karmada-cluster}
data: {caBundle: %[2]s, token: %[3]s}
---
apiVersion: cluster.karmada.io/v1alpha1
kind: Cluster
metadata: {name: %[1]s}
spec:
  syncMode: Push
  apiEndpoint: https://%[4]s
  secretRef: {namespace: karmada-cluster, name: %[1]s}
`, m.Name, encode(m.pki.caPEM()), encode([]byte(token.Status.Token)), m.endpoint.address))
	if err != nil {
		return err
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if err := k.waitForMember(ctx, m.Name, "to be Ready with all nodes", func(c *clusterv1alpha1.Cluster) bool {
		return isReady(c) && c.Status.ResourceSummary != nil && c.Status.NodeSummary != nil && int(c.Status.NodeSummary.ReadyNum) == len(nodes.Items)
	}); err != nil {
		return err
	}
	k.report("member "+m.Name, time.Since(began))
	return nil
}

// Disconnect cuts all connections from Karmada to a member, and waits until the member is not Ready in Karmada. The member keeps running.
func (k *Karmada) Disconnect(ctx context.Context, name string) error {
	m, err := k.member(name)
	if err != nil {
		return err
	}
	m.endpoint.close()
	return k.waitForMember(ctx, name, "to be not Ready", func(c *clusterv1alpha1.Cluster) bool {
		return !meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterConditionReady)
	})
}

// Reconnect reverts Disconnect, and waits until the member is Ready in Karmada.
func (k *Karmada) Reconnect(ctx context.Context, name string) error {
	m, err := k.member(name)
	if err != nil {
		return err
	}
	if err := m.endpoint.open(); err != nil {
		return err
	}
	return k.waitForMember(ctx, name, "to be Ready", isReady)
}

func (k *Karmada) member(name string) (*member, error) {
	m := k.members[name]
	if m == nil {
		return nil, fmt.Errorf("there is no member %s", name)
	}
	return m, nil
}

// isReady reports whether Karmada places workloads in the member.
func isReady(c *clusterv1alpha1.Cluster) bool {
	return meta.IsStatusConditionTrue(c.Status.Conditions, clusterv1alpha1.ClusterConditionReady) && len(c.Spec.Taints) == 0
}

func (k *Karmada) waitForMember(ctx context.Context, name, what string, is func(*clusterv1alpha1.Cluster) bool) error {
	client, err := karmada.NewForConfig(k.Config())
	if err != nil {
		return err
	}
	var last clusterv1alpha1.Cluster
	err = wait.PollUntilContextTimeout(ctx, readyPoll, memberTimeout, true, func(ctx context.Context) (bool, error) {
		c, err := client.ClusterV1alpha1().Clusters().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		last = *c
		return is(c), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for member %s %s: %w; it has taints %v, conditions %v", name, what, err, last.Spec.Taints, last.Status.Conditions)
	}
	return nil
}
