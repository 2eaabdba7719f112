// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/devicequota/devicequota/apis/accounting/v1alpha1"
	"github.com/devicequota/devicequota/pkg/accounting"
	"github.com/devicequota/devicequota/pkg/ledger"
)

// ErrOtherWriter reports that another process has moved the checkpoint. The store is then out of date.
var ErrOtherWriter = errors.New("another process writes the record of usage, too")

// Store is the record of its only writer. It is not safe for concurrent use.
type Store struct {
	client Client
	// writer identifies this process.
	writer string
	// label is the name of the label with recorded values.
	label string
	// retention is how long records stay after their period.
	retention time.Duration

	checkpoint *v1alpha1.UsageCheckpoint
	queues     map[string]*queueRecord
	// earlier has, by name, the ends of the records of earlier periods.
	earlier map[string]time.Time
}

// New returns a store. Call Load before any other method.
func New(client Client, label string, retention time.Duration) *Store {
	return &Store{client: client, writer: string(uuid.NewUUID()), label: label, retention: retention}
}

// Load reads the record, and returns the end of the time that it covers. If there is no record, Load begins one now.
func (s *Store) Load(ctx context.Context, now time.Time) (time.Time, error) {
	checkpoint, err := s.client.Checkpoints.Get(ctx, v1alpha1.CheckpointName)
	if apierrors.IsNotFound(err) {
		checkpoint, err = s.client.Checkpoints.Create(ctx, &v1alpha1.UsageCheckpoint{
			ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.CheckpointName},
			Spec:       v1alpha1.UsageCheckpointSpec{Through: metav1.NewTime(now.Truncate(time.Second)), Writer: s.writer, Label: s.label},
		})
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("read the UsageCheckpoint: %w", err)
	}
	s.checkpoint, s.queues, s.earlier = checkpoint, map[string]*queueRecord{}, map[string]time.Time{}
	var invalid error
	err = s.client.Records.Each(ctx, func(record *v1alpha1.UsageRecord) {
		if err := s.take(record); err != nil {
			invalid = err
		}
	})
	if err = errors.Join(err, invalid); err != nil {
		return time.Time{}, fmt.Errorf("read UsageRecords: %w", err)
	}
	return checkpoint.Spec.Through.Time, nil
}

// take adds a record that was read. The latest record of a queue includes the sums of the earlier ones.
func (s *Store) take(record *v1alpha1.UsageRecord) error {
	latest := s.queues[record.Spec.Queue]
	if latest == nil {
		latest = &queueRecord{}
		s.queues[record.Spec.Queue] = latest
	}
	latest.noteGrowth(record)
	end := record.Spec.End.Time
	if latest.name != "" {
		if record.Spec.Through.Time.Before(latest.through) { // its period may end later, if periods have become shorter
			s.earlier[record.Name] = end
			return nil
		}
		s.earlier[latest.name] = latest.end
	}
	return latest.take(record, s.checkpoint.Spec.Through.Time)
}

// take adopts the sums of a record up to the checkpoint.
func (r *queueRecord) take(record *v1alpha1.UsageRecord, through time.Time) error {
	sums, err := Sums(record, through.Unix())
	if err != nil {
		return err
	}
	r.name, r.sums, r.known, r.end = record.Name, sums, record.ObjectMeta, record.Spec.End.Time
	r.through = record.Spec.Through.Time
	r.unfinished = r.through.After(through)
	return nil
}

// Write adds an increment to the record. If it fails, nothing of the increment counts, and the caller may only repeat Write with the same
// increment. After ErrOtherWriter, the caller must call Load first.
func (s *Store) Write(ctx context.Context, increment *accounting.Increment) error {
	added := map[string]accounting.Sums{}
	for series, amount := range increment.Added {
		if _, err := entryOf(series, Sum{}, amount); err != nil {
			return fmt.Errorf("write the usage of queue %s: %w", series.Queue, err)
		}
		if added[series.Queue] == nil {
			added[series.Queue] = accounting.Sums{}
		}
		added[series.Queue][series] = amount
	}
	for queue, record := range s.queues {
		if record.unfinished && added[queue] == nil {
			added[queue] = accounting.Sums{} // the checkpoint must not confirm the unfinished increment of another process
		}
	}
	drafts := make(map[string]*draft, len(added))
	for _, queue := range slices.Sorted(maps.Keys(added)) {
		record := s.queues[queue]
		if record == nil {
			record = &queueRecord{}
			s.queues[queue] = record
		}
		written, err := s.put(ctx, queue, record, increment, added[queue])
		if err != nil {
			return fmt.Errorf("write the usage of queue %s: %w", queue, err)
		}
		drafts[queue] = written
	}
	if err := s.finish(ctx, increment.Through); err != nil {
		return fmt.Errorf("write the UsageCheckpoint: %w", err)
	}
	for queue, written := range drafts {
		record := s.queues[queue]
		if record.name != "" && record.name != written.object.Name {
			s.earlier[record.name] = record.end
		}
		*record = queueRecord{
			name: written.object.Name, sums: written.sums, known: record.known, end: increment.End, grown: grownIn(increment.End, written.sums, record.grown),
		}
	}
	return nil
}

// attempts limits how often an object is written while others change it.
const attempts = 5

// put writes a record with an increment. If the API server has another version, put adopts the sums of that version up to the checkpoint.
func (s *Store) put(ctx context.Context, queue string, record *queueRecord, increment *accounting.Increment, added accounting.Sums) (*draft, error) {
	var err error
	for range attempts {
		d := record.with(queue, increment, added, s.retention)
		write := s.client.Records.Update
		if d.object.ResourceVersion == "" {
			write = s.client.Records.Create
		}
		var written *v1alpha1.UsageRecord
		written, err = write(ctx, d.object)
		switch {
		case err == nil:
			record.known, record.unfinished = written.ObjectMeta, true
			return d, nil
		case apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) && d.object.ResourceVersion != "":
			if err := s.reread(ctx, record, d.object.Name); err != nil {
				return nil, err
			}
		default:
			return nil, err
		}
	}
	return nil, err
}

// reread reads the current version of a record from the API server.
func (s *Store) reread(ctx context.Context, record *queueRecord, name string) error {
	current, err := s.client.Records.Get(ctx, name)
	switch {
	case apierrors.IsNotFound(err):
		record.known = metav1.ObjectMeta{} // it was deleted, and is created again
		return nil
	case err != nil:
		return err
	case current.Spec.Through.After(s.checkpoint.Spec.Through.Time):
		record.known = current.ObjectMeta // an unfinished increment: the sums up to the checkpoint are known
		return nil
	default:
		return record.take(current, s.checkpoint.Spec.Through.Time)
	}
}

// finish moves the checkpoint. After that, the increment counts.
func (s *Store) finish(ctx context.Context, through time.Time) error {
	moved := s.checkpoint.DeepCopy()
	moved.Spec = v1alpha1.UsageCheckpointSpec{Through: metav1.NewTime(through), Writer: s.writer, Label: s.label}
	for range attempts {
		written, err := s.client.Checkpoints.Update(ctx, moved)
		if err == nil {
			s.checkpoint = written
			return nil
		}
		if !apierrors.IsConflict(err) {
			return err
		}
		current, err := s.client.Checkpoints.Get(ctx, v1alpha1.CheckpointName)
		switch {
		case err != nil:
			return err
		case current.Spec.Writer == s.writer && current.Spec.Through.Time.Equal(through):
			s.checkpoint = current // this process has moved it, and did not get the answer
			return nil
		case current.Spec.Writer != s.checkpoint.Spec.Writer || !current.Spec.Through.Equal(&s.checkpoint.Spec.Through):
			return ErrOtherWriter
		}
		moved.ObjectMeta = current.ObjectMeta // only metadata has changed
	}
	return ErrOtherWriter
}

// DeleteOld deletes the records of periods that ended before the retention. The latest record of each queue stays, because it has the
// sums of all periods.
func (s *Store) DeleteOld(ctx context.Context) error {
	oldest := s.checkpoint.Spec.Through.Add(-s.retention)
	for name, end := range s.earlier {
		if !end.Before(oldest) {
			continue
		}
		if err := s.client.Records.Delete(ctx, name); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete UsageRecord %s: %w", name, err)
		}
		delete(s.earlier, name)
	}
	return nil
}

// Through returns the end of the time that the record covers.
func (s *Store) Through() time.Time { return s.checkpoint.Spec.Through.Time }

// Totals calls yield with the total of each series up to the checkpoint.
func (s *Store) Totals(yield func(accounting.Series, ledger.Amount) bool) {
	for _, record := range s.queues {
		for series, sum := range record.sums {
			if !yield(series, sum.Total()) {
				return
			}
		}
	}
}
