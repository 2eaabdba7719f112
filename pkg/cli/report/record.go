// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/devicequota/devicequota/apis/accounting/v1alpha1"
	"github.com/devicequota/devicequota/pkg/accounting/store"
	"github.com/devicequota/devicequota/pkg/quota"
)

// attempts limits how often the record is read while the scheduler writes it.
const attempts = 10

// fromRecord reads the record of the periods that overlap a span. The note says which time the report covers.
func fromRecord(ctx context.Context, client dynamic.Interface, asked span) (all []usage, note string, err error) {
	records := store.NewClient(client)
	for range attempts {
		before, err := records.Checkpoints.Get(ctx, v1alpha1.CheckpointName)
		if apierrors.IsNotFound(err) {
			return nil, "", errors.New("the cluster has no record of usage: apply config/crd and config/rbac, wait a minute if the scheduler has just started, or use --source=prometheus")
		}
		if err != nil {
			return nil, "", fmt.Errorf("read the UsageCheckpoint: %w", err)
		}
		through := before.Spec.Through.Time
		all, about, err := readRecords(ctx, records, asked, through)
		if err != nil {
			return nil, "", fmt.Errorf("read UsageRecords: %w", err)
		}
		after, err := records.Checkpoints.Get(ctx, v1alpha1.CheckpointName)
		if err != nil {
			return nil, "", fmt.Errorf("read the UsageCheckpoint: %w", err)
		}
		if after.ResourceVersion != before.ResourceVersion {
			continue // the records may come from two different writes
		}
		return all, describe(asked, about, through), nil
	}
	return nil, "", errors.New("the record of usage is written all the time: try again")
}

// readRecords returns the usage in the records of a span, and the time that their periods cover.
func readRecords(ctx context.Context, records store.Client, asked span, through time.Time) (all []usage, about span, err error) {
	var invalid error
	err = records.Records.Each(ctx, func(record *v1alpha1.UsageRecord) {
		start, end := record.Spec.Start.UTC(), record.Spec.End.UTC()
		if !start.Before(asked.to) || !end.After(asked.from) {
			return
		}
		sums, err := store.Sums(record, through.Unix())
		if err != nil {
			invalid = err
			return
		}
		if about.from.IsZero() || start.Before(about.from) {
			about.from = start
		}
		if end.After(about.to) {
			about.to = end
		}
		for series, sum := range sums {
			all = append(all, usage{series, start, sum.Seconds})
		}
	})
	return all, about, errors.Join(err, invalid)
}

// describe says which time a report covers, because the record has sums of whole periods.
func describe(asked, about span, through time.Time) string {
	complete := "The record is complete up to " + through.UTC().Format(time.RFC3339) + "."
	if about.from.IsZero() {
		return fmt.Sprintf("The record has nothing from %s to %s. %s", asked.from.UTC().Format(time.RFC3339), asked.to.UTC().Format(time.RFC3339), complete)
	}
	return fmt.Sprintf("The report has whole periods, from %s to %s. %s", about.from.Format(time.RFC3339), about.to.Format(time.RFC3339), complete)
}

// readParents returns the queue above each queue.
func readParents(ctx context.Context, client dynamic.Interface) (map[string]string, error) {
	queues := schema.GroupVersionResource{Group: "scheduling.volcano.sh", Version: "v1beta1", Resource: "queues"}
	list, err := client.Resource(queues).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("read queues: %w", err)
	}
	parents := map[string]string{}
	for i := range list.Items {
		name := list.Items[i].GetName()
		parent, _, _ := unstructured.NestedString(list.Items[i].Object, "spec", "parent")
		if name != quota.Root {
			parents[name] = quota.Parent(name, parent)
		}
	}
	return parents, nil
}
