/* SPDX-License-Identifier: MIT
   Who searches, who sleeps, who watches (idle_set.hpp, [IDLE-1..5]), with WORKERS workers and TASKS injected tasks.
   Tasks are heavy: KIND plain does nothing; slot puts another task into its worker's slot, which tells nobody; spawn
   pushes one to its worker's deque and wakes a searcher if one is wanted; pair waits until the other of the two has
   begun. Then they compute until the other task has run elsewhere, so that each lost wake is a state without a way out.
   A push goes through a store buffer, which the sleeper's heavy fence empties; outside threads have a fence of their
   own. A searcher leaves slots alone (they are young); the watch whose time is up does not.
   Holds: invariant W after each transition; nobody counted twice; each task runs once; when nothing moves any more all
   tasks have run, all workers sleep, without a watch and without a token.
   Must fail:
     NO_SUCCESSOR      found_work() of the last searcher wakes nobody
     NO_WATCH          announce() never takes the watch
     ROLE_STAYS        a waker moves the watch and leaves it the role
     WATCH_FOR_EVER    keep_watch() says yes in an idle runtime
     RECHECKS_FIRST    the sleeper looks at the queues, then announces itself
     ANNOUNCES_TWICE   it gives up searching only after the recheck
     OUTSIDE_UNFENCED  an outside push stays in the store buffer during the look at the set */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef TASKS
#define TASKS 1
#endif
#ifndef KIND0
#define KIND0 slot
#endif
#ifndef KIND1
#define KIND1 slot
#endif
#define NOBODY 15
#define ALL ((1 << WORKERS) - 1)

mtype = { plain, slot, spawn, pair };
mtype kind[2];

/* The set. */
#ifdef IDLE
byte searchers, stack = ALL, watch = NOBODY;      /* stack: a set of workers, without the watch */
#define asleep_at_start true
#else
byte searchers, stack, watch = NOBODY;
#define asleep_at_start false
#endif
bool token[WORKERS];

#define sleeper(w) ((stack & (1 << w)) || watch == w)
#define sleepers ((stack & 1) + ((stack >> 1) & 1) + ((stack >> 2) & 1) + (watch != NOBODY))
#define active (WORKERS - searchers - sleepers)
#define wants_wake (sleepers > 0 && searchers == 0)
#ifdef BROKEN                                     /* a broken set: not W is the failure, but what comes of it */
#define check_w skip
#else
#define check_w assert(active == 0 || sleepers == 0 || searchers > 0 || watch != NOBODY)
#endif

/* The queues: task h in the global queue; its other task in a slot or a deque, seen by others once `stored`. */
bool global[2], global_stored[2];
bool offered[2], stored[2];
byte ran[2], other_ran[2]; bool begun[2];
byte ticks;

#define visible(h) (global[h] && global_stored[h])
#define stealable(h) (kind[h] == spawn && offered[h] && stored[h])
#define in_slot(h) (kind[h] == slot && offered[h] && stored[h])

inline heavy_fence() { d_step {
  if :: offered[0] -> stored[0] = true :: else fi; if :: offered[1] -> stored[1] = true :: else fi } }

/* The next sleeper but the watch, else the watch; it searches from now on. */
inline move_one(v) {
  v = NOBODY;
  if
  :: stack != 0 ->
     v = 0; do :: !(stack & (1 << v)) -> v++ :: else -> break od;
     stack = stack & ~(1 << v); searchers++
  :: stack == 0 && watch != NOBODY ->
     v = watch; searchers++;
#ifdef ROLE_STAYS
     role_stays = true;
#endif
     watch = NOBODY
  :: else
  fi }
#ifdef ROLE_STAYS
bool role_stays;                                  /* the set takes a worker for the watch that is none */
#define has_watch (watch != NOBODY || role_stays)
#else
#define has_watch (watch != NOBODY)
#endif

inline notify(v) { if :: v != NOBODY -> token[v] = true :: else fi }
inline wake_one(v) {
  d_step { v = NOBODY; if :: searchers == 0 -> move_one(v) :: else fi; check_w };
  notify(v) }
inline begin_search() { d_step { searchers++; check_w } }
inline found_work(v) {
  d_step {
    assert(searchers > 0); searchers--; v = NOBODY;
#ifndef NO_SUCCESSOR
    if :: searchers == 0 && !has_watch -> move_one(v) :: else fi;
#endif
    check_w };
  notify(v) }
inline announce(w) { d_step {
  assert(searchers > 0 && !sleeper(w));
#ifndef ANNOUNCES_TWICE
  searchers--;
#endif
#ifdef NO_WATCH
  stack = stack | (1 << w);
#else
  if
  :: !has_watch && WORKERS - searchers - sleepers > 1 -> watch = w      /* somebody but itself is active */
  :: else -> stack = stack | (1 << w)
  fi;
#endif
  check_w } }
inline retract(w, moved) { d_step {
  moved = !sleeper(w);
  if :: !moved -> stack = stack & ~(1 << w); if :: watch == w -> watch = NOBODY :: else fi; searchers++ :: else fi;
  check_w } }
inline keep_watch(w, keeps) { d_step {
  keeps = (watch == w);
#ifndef WATCH_FOR_EVER
  if :: keeps && active == 0 -> watch = NOBODY; stack = stack | (1 << w); keeps = false :: else fi
#endif
  } }

inline anything(is, as_watch) { d_step {
  is = visible(0) || visible(1) || stealable(0) || stealable(1) || (as_watch && (in_slot(0) || in_slot(1))) } }

proctype worker(byte w) { byte v, h; bool as_watch, is, other;
  if :: asleep_at_start -> goto end_sleep :: else fi;

look:                                             /* ACTIVE */
  h = NOBODY; other = false; as_watch = false;
  d_step { if :: visible(0) -> h = 0; global[0] = false :: !visible(0) && visible(1) -> h = 1; global[1] = false :: else fi };
  if :: h != NOBODY -> goto run_it :: else fi;
  begin_search();

search:                                           /* looks at one queue after the other: may miss anything */
  h = NOBODY; other = false;
  if
  :: atomic { visible(0) -> global[0] = false; h = 0 }
  :: atomic { visible(1) -> global[1] = false; h = 1 }
  :: atomic { stealable(0) -> offered[0] = false; h = 0; other = true }
  :: atomic { stealable(1) -> offered[1] = false; h = 1; other = true }
  :: atomic { as_watch && in_slot(0) -> offered[0] = false; h = 0; other = true }
  :: atomic { as_watch && in_slot(1) -> offered[1] = false; h = 1; other = true }
  :: !(as_watch && (in_slot(0) || in_slot(1))) -> skip
  fi;
  as_watch = false;
  if :: h != NOBODY -> found_work(v); v = 0; goto run_it :: else fi;
#ifdef RECHECKS_FIRST
  anything(is, false);
  if :: is -> goto search :: else fi;
#endif
  announce(w);
#ifndef RECHECKS_FIRST
  heavy_fence();
  anything(is, false);
  if
  :: is ->
     retract(w, is);
#ifdef ANNOUNCES_TWICE
     searchers--;
#endif
     if :: is -> goto end_sleep :: else -> goto search fi
  :: else
  fi;
#endif
#ifdef ANNOUNCES_TWICE
  searchers--;
#endif

end_sleep:
  if
  :: atomic { token[w] -> token[w] = false }; assert(!sleeper(w)); goto search
  :: watch == w ->                                /* the time is up */
     keep_watch(w, is);
     if
     :: is ->
        d_step { if :: active == 0 && ran[0] && (TASKS == 1 || ran[1]) -> ticks++; assert(ticks <= 2) :: else fi };
        anything(is, true);
        if
        :: is -> retract(w, is); if :: is -> goto end_sleep :: else -> as_watch = true; goto search fi
        :: else -> goto end_sleep
        fi
     :: else -> goto end_sleep
     fi
  fi;

run_it:
  if
  :: other -> d_step { other_ran[h]++; assert(other_ran[h] == 1) }; goto look
  :: else
  fi;
  begun[h] = true;
  if
  :: kind[h] == plain -> skip
  :: kind[h] == slot -> offered[h] = true;
end_slot: other_ran[h] > 0
  :: kind[h] == spawn -> offered[h] = true;
     if :: wants_wake -> wake_one(v); v = 0 :: else fi;
end_spawn: other_ran[h] > 0
  :: kind[h] == pair ->
end_pair: begun[0] && begun[1]
  fi;
  d_step { ran[h]++; assert(ran[h] == 1) };
  goto look }

proctype store_buffers() {                        /* a store arrives some time */
end: do
  :: atomic { offered[0] && !stored[0] -> stored[0] = true }
  :: atomic { offered[1] && !stored[1] -> stored[1] = true }
  :: atomic { global[0] && !global_stored[0] -> global_stored[0] = true }
  :: atomic { global[1] && !global_stored[1] -> global_stored[1] = true }
  od }

proctype outside() { byte h, v;
  do
  :: h < TASKS ->
     global[h] = true;
#ifndef OUTSIDE_UNFENCED
     global_stored[h] = true;
#endif
     if :: wants_wake -> wake_one(v) :: else fi;
     h++
  :: else -> break
  od }

proctype monitor() { byte h;
  timeout -> d_step {
    do
    :: h < TASKS -> assert(ran[h] == 1 && (kind[h] == plain || kind[h] == pair || other_ran[h] == 1)); h++
    :: else -> break
    od;
    assert(stack == ALL && searchers == 0 && watch == NOBODY);
    h = 0; do :: h < WORKERS -> assert(!token[h]); h++ :: else -> break od } }

init { atomic {
  kind[0] = KIND0; kind[1] = KIND1;
  run worker(0); run worker(1);
#if WORKERS == 3
  run worker(2);
#endif
  run store_buffers(); run outside(); run monitor() } }
