/* SPDX-License-Identifier: MIT
   Parking and waking by the task word (task_word.hpp, [PARK-1..5]). A task waits WAITS times on an object with a lock
   and one node. A sender claims it with a value, a canceller by flag, a timer with the ticket of the first wait.
   Holds: each wait ends once, for one reason, with the value if that was it, and is queued once, after its stack was
   left; the timer ends no other wait than its own; at the end the task has finished.
   Must fail:
     QUEUES_UNLEFT    deliver() queues without a look at LEFT
     COMMITS_BLINDLY  leave() does not look at DELIVERED
     ANY_TICKET       the claim does not compare tickets
     CLAIMS_TWICE     the claim does not look at the reason
     NO_LOOK_AT_FLAG  the parker does not look at the flag after begin_park
     VALUE_LATE       the sender delivers, then writes the value */
#ifndef WAITS
#define WAITS 2
#endif
#define NONE 0
#define DATA 1
#define CANCEL 2
#define TIMEOUT 3

mtype = { running, parking, runnable };
mtype state = running;                /* the word */
byte ticket, reason;
bool left, delivered;

byte queued;                          /* times it stands in a run queue */
bool on_stack = true;                 /* ghost: its stack is in use */
bool locked, linked; byte node;       /* the object */
byte value;
bool flag, finished;

#ifdef ANY_TICKET
#define of_this_wait(t) true
#else
#define of_this_wait(t) (ticket == t)
#endif
#ifdef CLAIMS_TWICE
#define unclaimed true
#else
#define unclaimed (reason == NONE)
#endif
#define claimable(t) (state == parking && unclaimed && of_this_wait(t))

inline lock()   { atomic { !locked -> locked = true } }
inline unlock() { locked = false }

inline make_runnable_and_queue() {
  d_step { assert(left && !on_stack); state = runnable; queued++; assert(queued == 1) } }

inline begin_park() { d_step { state = parking; ticket++; reason = NONE; left = false; delivered = false } }
inline claim(t, r, won) { d_step { won = claimable(t); if :: won -> reason = r :: else fi } }
inline deliver(was_left) { d_step { was_left = left; delivered = true } }
inline leave(was_delivered) { d_step { was_delivered = delivered; left = true } }
/* claim and deliver in one step */
inline wake(t, r, you) {
  d_step { you = false; if :: claimable(t) -> reason = r; delivered = true; you = left :: else fi };
  if :: you -> make_runnable_and_queue() :: else fi }

proctype task() { byte wait; bool it;
  do
  :: wait < WAITS ->
     lock(); value = 0; begin_park(); node = ticket; linked = true; unlock();
     it = false;
#ifndef NO_LOOK_AT_FLAG
     if :: flag -> claim(ticket, CANCEL, it) :: else fi;
#endif
     if
     :: it -> state = running                        /* stay() */
     :: else ->
        on_stack = false;                            /* the switch; from here on it is the successor */
        leave(it);
#ifndef COMMITS_BLINDLY
        if :: it -> make_runnable_and_queue() :: else fi;
#endif
        atomic { queued > 0 -> queued--; assert(left && delivered && !on_stack); state = running; on_stack = true }
     fi;
     assert(reason != NONE);
     assert(reason != DATA || value == 1);
     assert(reason != TIMEOUT || wait == 0);
     lock(); linked = false; unlock();
     wait++
  :: else -> break
  od;
  finished = true }

proctype sender() { byte t; bool it;
end:
  do
  :: atomic { linked && !locked -> locked = true; t = node };
     claim(t, DATA, it);
     if
     :: it ->
        linked = false;
#ifdef VALUE_LATE
        unlock(); deliver(it);
        if :: it -> make_runnable_and_queue() :: else fi;
        value = 1
#else
        value = 1; unlock(); deliver(it);
#ifdef QUEUES_UNLEFT
        it = true;
#endif
        if :: it -> make_runnable_and_queue() :: else fi
#endif
     :: else -> linked = false; unlock()
     fi
  :: finished -> break
  od }

proctype canceller() { byte t; bool it;
  flag = true;                                       /* heavy fence */
  t = ticket;
  wake(t, CANCEL, it) }

proctype timer() { bool it; wake(1, TIMEOUT, it) }

proctype monitor() { timeout -> assert(finished && queued == 0) }

init { atomic {
  run task(); run canceller(); run timer();
#ifndef NO_SENDER
  run sender();
#endif
  run monitor() } }
