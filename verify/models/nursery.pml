/* SPDX-License-Identifier: MIT
   A nursery's join by count and ticket in one word (count_word.hpp, [CNT-1..5]). The nursery lies on the joiner's stack:
   `alive` is a ghost that each access by others asserts.
   The joiner spawns children 0 and 1 (plain count), runs in place what it still finds, and joins. A thief takes the
   rest. Child 0 elsewhere spawns child 2 into the nursery. An outer cancel walks down under the parent's lock; it ends
   a wait of the joiner for nothing, and makes who is not started yet end without running.
   Holds: nobody touches the nursery after its joiner left; it leaves; each child ended once.
   Must fail:
     LOOKS_AFTER_RMW    finish_one looks for the waiter after its decrement
     TICKET_LATE        wait() adds the count, then sets the ticket
     OLD_TICKET         again() leaves the old ticket in the word
     TICKET_BESIDE      a waiter bit in the word, the ticket beside it; the joiner leaves when it reads zero
     TRUSTS_REASON      the same, and the joiner leaves only if a child woke it
     COUNTS_AFTER_PUSH  a spawn elsewhere counts when it has pushed
     FORGETS_DESTROYED  who destroys an unstarted child does not count it down
     BOTH_TAKE          pop and steal are not exclusive
     NO_PARENT_LOCK     the outer cancel does not take the parent's lock
     TWO_STEP_CANCEL    the cancel claims, then delivers [PARK-4] */
#define CHILDREN 3
#define NONE 0
#define CHILD 1
#define CANCEL 2

mtype = { running, parking, runnable };
mtype state = running;                /* the joiner's word: type-stable, outlives the nursery */
byte ticket, reason;
bool left, delivered;
byte queued;

short count; byte waiter;             /* the count word */
byte beside;                          /* TICKET_BESIDE */
bool requested;                       /* the nursery's scope */

bool parent_locked, in_parent = true; /* the parent scope */
bool alive = true, joined;            /* ghosts */
bool pushed[CHILDREN]; byte ended[CHILDREN]; byte spawned = 2;

#define touch assert(alive)

inline make_runnable_and_queue() { assert(left); state = runnable; queued++; assert(queued == 1) }
inline begin_park() { d_step { state = parking; ticket++; reason = NONE; left = false; delivered = false } }
inline wake(t, r) { d_step {
  if
  :: state == parking && ticket == t && reason == NONE ->
     reason = r; delivered = true;
     if :: left -> make_runnable_and_queue() :: else fi
  :: else
  fi } }
inline leave_and_wait() {
  d_step { left = true; if :: delivered -> make_runnable_and_queue() :: else fi };
  atomic { queued > 0 -> queued--; state = running } }

#ifdef BOTH_TAKE
#define take(c) pushed[c] -> pushed[c] = false
#else
#define take(c) atomic { pushed[c] -> pushed[c] = false }
#endif

#ifdef TRUSTS_REASON
#define TICKET_BESIDE
#endif

inline end_elsewhere(c, w) {
  d_step { touch; ended[c]++; assert(ended[c] == 1) };
#ifdef LOOKS_AFTER_RMW
  d_step { touch; count--; w = (count == 0) };
  if :: w -> touch; w = waiter :: else fi;
#else
  d_step { touch; count--; w = (count == 0 -> waiter : 0) };       /* finish_one() */
#endif
#ifdef TICKET_BESIDE
  if :: w -> touch; w = beside :: else fi;
#endif
  if :: w -> wake(w, CHILD) :: else fi }

proctype child(byte c) { byte w; bool unstarted;
  touch; unstarted = requested;
  if
  :: !unstarted && c == 0 ->
#ifdef COUNTS_AFTER_PUSH
     pushed[2] = true; d_step { touch; count++; spawned++ }
#else
     d_step { touch; count++; spawned++ }; pushed[2] = true
#endif
  :: else
  fi;
#ifdef FORGETS_DESTROYED
  if :: unstarted -> ended[c]++; goto out :: else fi;
#endif
  end_elsewhere(c, w);
out: skip }

proctype thief() {
end:
  do
  :: take(0); run child(0)
  :: take(1); run child(1)
  :: take(2); run child(2)
  :: joined -> break
  od }

proctype outer_cancel() { byte t;
#ifndef NO_PARENT_LOCK
  atomic { !parent_locked -> parent_locked = true };
#endif
  if
  :: in_parent ->
     touch; requested = true; t = ticket;
#ifdef TWO_STEP_CANCEL
     d_step { if :: state == parking && ticket == t && reason == NONE -> reason = CANCEL :: else -> t = 0 fi };
     if :: t != 0 -> d_step { delivered = true; if :: left -> make_runnable_and_queue() :: else fi } :: else fi
#else
     wake(t, CANCEL)
#endif
  :: else
  fi;
  parent_locked = false }

proctype joiner() { short plain; bool out;
  plain++; pushed[0] = true; plain++; pushed[1] = true;
  do                                                               /* in place */
  :: take(1); d_step { ended[1]++; assert(ended[1] == 1); plain-- }
  :: take(0); d_step { ended[0]++; assert(ended[0] == 1); plain-- }
  :: true -> break
  od;
  out = (count + plain == 0);                                      /* none_left() */
  do
  :: out -> break
  :: else ->
     begin_park();
#ifdef TICKET_BESIDE
     beside = ticket;
     d_step { count = count + plain; plain = 0; out = (count == 0); waiter = (out -> 0 : 1) };
#elif defined(TICKET_LATE)
     d_step { count = count + plain; plain = 0; out = (count == 0) };
     if :: !out -> waiter = ticket :: else fi;
#elif defined(OLD_TICKET)
     d_step { count = count + plain; plain = 0; out = (count == 0); if :: waiter == 0 -> waiter = ticket :: else fi };
#else
     d_step { count = count + plain; plain = 0; out = (count == 0); waiter = ticket };   /* wait() or again() */
#endif
     if
     :: out -> state = running; break                              /* stay() */
     :: else
     fi;
     leave_and_wait();
#ifdef TRUSTS_REASON
     out = (reason == CHILD)
#else
     d_step { out = (count == 0) }
#endif
  od;
  begin_park();                                                    /* its next wait, of another kind: what may end it */
  assert(!delivered || reason == CANCEL);
  state = running;
  atomic { !parent_locked -> parent_locked = true }; in_parent = false; parent_locked = false;
  atomic {
    alive = false; joined = true;
    assert(ended[0] == 1 && ended[1] == 1 && ended[2] == spawned - 2) } }

proctype monitor() { timeout -> assert(joined && queued == 0) }

init { atomic { run joiner(); run thief(); run outer_cancel(); run monitor() } }
