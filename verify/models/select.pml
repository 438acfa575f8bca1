/* SPDX-License-Identifier: MIT
   Selects over unbuffered channels (select_core.hpp, [SEL-1..6]). Three tasks (four with MEETING 4) of up to two arms
   each, one select each; task STOPPED_ONE is asked to stop.
   MEETING 1: a{send 0, recv 1} b{recv 0, send 2} c{recv 2}         2: the same, c{recv 2, send 1}: a ring of three
           3: a{send 0, recv 1} b{recv 0, send 1} c{recv 0}         4: 1 and d{send 1}
           5: a{send 0, recv 0} b{send 0, recv 0} c{recv 0}         6: a{send 0, recv 1} b{send 1, recv 0}, crosswise
   NO_FIRST_LOOK leaves the look one by one out.
   Holds: nobody sleeps beside one who could serve it; every value is received once or kept; a woken task has a reason
   and, if it received, a value; no node is left in a list; whoever is asked to stop does not sleep.
   Must fail:
     ONLY_LINKS       the look under all locks is left out
     LINKS_APART      look and links are two critical sections
     CASE_ORDER       locks are taken in the order of the arms
     LEAVES_LOSERS    losers stay linked
     CLAIMS_TWICE     a claim does not look whether somebody else has won
     NO_LOOK_AT_FLAG  the parker does not look at the flag after PARKING */
#ifndef MEETING
#define MEETING 1
#endif
#ifndef STOPPED_ONE
#define STOPPED_ONE 0
#endif
#if MEETING == 4
#define TASKS 4
#else
#define TASKS 3
#endif
#define NODES 8
#define STOPPED 3
#define send 0
#define recv 1
#define none 15
#define task_of(node) ((node) / 2)

mtype = { running, parking, runnable };
mtype state[TASKS]; byte reason[TASKS]; bool left[TASKS], delivered[TASKS], stop[TASKS], finished[TASKS];
byte queued[TASKS], arms[TASKS];
byte channel[NODES], way[NODES]; bool linked[NODES];   /* arm k of task t is node 2t+k */
bool locked[3];
byte got[TASKS], gone[TASKS];                          /* value received; how often the own one was taken */

#ifdef CLAIMS_TWICE
#define unclaimed(t) true
#else
#define unclaimed(t) (reason[t] == 0)
#endif
#define uses(t, c) (channel[2*(t)] == c || (arms[t] == 2 && channel[2*(t)+1] == c))

inline lock(c)   { atomic { !locked[c] -> locked[c] = true } }
inline unlock(c) { locked[c] = false }
inline lock_all(me) {
#ifdef CASE_ORDER
  lock(channel[2*me]);
  if :: arms[me] == 2 && channel[2*me+1] != channel[2*me] -> lock(channel[2*me+1]) :: else fi
#else
  c = 0; do :: c < 3 -> if :: uses(me, c) -> lock(c) :: else fi; c++ :: else -> break od
#endif
}
inline unlock_all(me) { c = 0; do :: c < 3 -> if :: uses(me, c) -> unlock(c) :: else fi; c++ :: else -> break od }

/* under the lock of node n's channel: claims a partner and moves the value; p is his node, or none */
inline look(me, n) {
  won = false; p = 0;
  do
  :: p < NODES && !won ->
     if
     :: linked[p] && channel[p] == channel[n] && way[p] != way[n] && task_of(p) != me ->
        d_step {
          linked[p] = false;
          won = (state[task_of(p)] == parking && unclaimed(task_of(p)));
          if :: won -> reason[task_of(p)] = 1 + (p % 2) :: else fi };
        if
        :: won && way[n] == send ->
           d_step { assert(got[task_of(p)] == 0); got[task_of(p)] = me + 1; gone[me]++; assert(gone[me] == 1) }
        :: won && way[n] == recv ->
           d_step { got[me] = task_of(p) + 1; gone[task_of(p)]++; assert(gone[task_of(p)] == 1) }
        :: else -> p++
        fi
     :: else -> p++
     fi
  :: else -> break
  od }
inline deliver(t) {
  d_step { delivered[t] = true;
           if :: left[t] -> assert(queued[t] == 0); queued[t]++; state[t] = runnable :: else fi } }

proctype selects(byte me) { byte k, n, p, c, result; bool won;
#ifndef NO_FIRST_LOOK
  k = 0;
  do
  :: k < arms[me] && result == 0 ->
     n = 2*me + k; lock(channel[n]); look(me, n); unlock(channel[n]);
     if :: won -> deliver(task_of(p)); result = k + 1 :: else -> k++ fi
  :: else -> break
  od;
  if :: result -> goto settled :: else fi;
#endif
  lock_all(me);
#ifndef ONLY_LINKS
  k = 0;
  do
  :: k < arms[me] && result == 0 -> n = 2*me + k; look(me, n); if :: won -> result = k + 1 :: else -> k++ fi
  :: else -> break
  od;
#endif
  if
  :: result -> unlock_all(me); deliver(task_of(p)); goto settled
  :: else
  fi;
#ifdef LINKS_APART
  unlock_all(me); lock_all(me);
#endif
  skip;
  d_step { state[me] = parking; reason[me] = 0; linked[2*me] = true;
           if :: arms[me] == 2 -> linked[2*me+1] = true :: else fi };
  unlock_all(me);
  won = false;
#ifndef NO_LOOK_AT_FLAG
  if :: stop[me] -> d_step { won = (reason[me] == 0); if :: won -> reason[me] = STOPPED :: else fi } :: else fi;
#endif
  if
  :: won -> state[me] = running
  :: else ->
     d_step { left[me] = true; if :: delivered[me] -> queued[me]++; state[me] = runnable :: else fi };
end_parked:
     atomic { queued[me] > 0 -> queued[me]--; assert(left[me] && delivered[me]); state[me] = running }
  fi;
  result = reason[me];
#ifndef LEAVES_LOSERS
  k = 0;
  do
  :: k < arms[me] ->
     n = 2*me + k;
     if :: linked[n] -> lock(channel[n]); linked[n] = false; unlock(channel[n]) :: else fi; k++
  :: else -> break
  od;
#endif
settled:
  skip;
  d_step {
    assert(result >= 1 && result <= 3 && !linked[2*me] && !linked[2*me+1]);
    if
    :: result == STOPPED -> assert(got[me] == 0 && gone[me] == 0)
    :: result != STOPPED && way[2*me + result - 1] == recv -> assert(got[me] != 0 && gone[me] == 0)
    :: else -> assert(gone[me] == 1 && got[me] == 0)
    fi };
  finished[me] = true }

proctype canceller(byte who) {
  stop[who] = true;                                    /* heavy fence */
  d_step {
    if
    :: state[who] == parking && reason[who] == 0 ->
       reason[who] = STOPPED; delivered[who] = true;
       if :: left[who] -> assert(queued[who] == 0); queued[who]++; state[who] = runnable :: else fi
    :: else
    fi } }

proctype monitor() { byte a, b;
  timeout -> d_step {
    assert(!locked[0] && !locked[1] && !locked[2]);
    a = 0;
    do
    :: a < TASKS ->
       assert(finished[a] || arms[a] == 0 || (state[a] == parking && left[a] && reason[a] == 0 && !delivered[a] && !stop[a]));
       a++
    :: else -> break
    od;
    a = 0;
    do
    :: a < 2*TASKS ->
       b = 0;
       do
       :: b < 2*TASKS ->
          assert(!(linked[a] && linked[b] && task_of(a) != task_of(b) && channel[a] == channel[b] && way[a] != way[b]));
          b++
       :: else -> break
       od;
       a++
    :: else -> break
    od;
    skip } }

#define arm(t, k, w, c) way[2*(t)+(k)] = w; channel[2*(t)+(k)] = c
init { atomic {
  state[0] = running; state[1] = running; state[2] = running;
  arms[0] = 2; arms[1] = 2; arms[2] = 1;
#if MEETING == 3
  arm(0, 0, send, 0); arm(0, 1, recv, 1); arm(1, 0, recv, 0); arm(1, 1, send, 1); arm(2, 0, recv, 0);
#elif MEETING == 5
  arm(0, 0, send, 0); arm(0, 1, recv, 0); arm(1, 0, send, 0); arm(1, 1, recv, 0); arm(2, 0, recv, 0);
#elif MEETING == 6
  arm(0, 0, send, 0); arm(0, 1, recv, 1); arm(1, 0, send, 1); arm(1, 1, recv, 0); arms[2] = 0;
#else
  arm(0, 0, send, 0); arm(0, 1, recv, 1); arm(1, 0, recv, 0); arm(1, 1, send, 2); arm(2, 0, recv, 2);
#if MEETING == 2
  arms[2] = 2; arm(2, 1, send, 1);
#elif MEETING == 4
  state[3] = running; arms[3] = 1; arm(3, 0, send, 1); run selects(3);
#endif
#endif
  run selects(0); run selects(1);
  if :: arms[2] > 0 -> run selects(2) :: else fi;
  run canceller(STOPPED_ONE);
  run monitor() } }
