/* SPDX-License-Identifier: MIT
   The deque's pop against thieves with asymmetric fences (deque.hpp, [DEQ-1] [DEQ-5] [DEQ-6]). The owner pushes, pops and
   takes the oldest, OPS times in any order, on a deque that begins with START of ITEMS; its stores go through a FIFO
   store buffer (x86-TSO). THIEVES come for BATCH entries each. Buffers do not grow and slots are not used again
   by a later index, but by the same one they are. REAL: light fences are real and heavy ones reach nobody else.
   Holds: nobody takes an item twice; at the end each that was pushed has been taken or stands between top and bottom.
   Must fail:
     OWNER_UNFENCED    pop does not fence for itself while somebody is counted in
     NO_HEAVY_FENCE    the thief runs none
     COUNTS_LATE       it counts itself in after its heavy fence
     LOOKS_LATE        the owner looks for thieves after it has read top
     LAST_FREE         the owner takes the last one without CAS although somebody is counted in
     OLD_BOTTOM        a batch runs on with the bottom that it saw at its start
     NO_LIGHT_FENCE    with REAL: pop has no light fence */
#ifndef ITEMS                                     /* given together with START */
#define ITEMS 4
#define START 3
#endif
#ifndef OPS
#define OPS 4
#endif
#ifndef THIEVES
#define THIEVES 2
#endif
#ifndef BATCH
#define BATCH 2
#endif
#define BOTTOM ITEMS                              /* where it stands in memory, behind the slots */

byte top, thieves;                                /* changed by locked instructions only */
byte memory[ITEMS + 1];
chan buffer = [4] of { byte, byte };              /* the owner's stores under way: where, what */
byte pushed, taken[ITEMS + 1], there;

inline take(x) { d_step { taken[x]++; assert(taken[x] == 1) } }

inline drain() { do :: nempty(buffer) -> buffer?where, what; memory[where] = what :: empty(buffer) -> break od }
#ifdef REAL
#define heavy_fence() skip
#else
#define heavy_fence() d_step { drain(); where = 0; what = 0 }
#endif
#if defined(REAL) && !defined(NO_LIGHT_FENCE)
#define light_fence() empty(buffer)
#else
#define light_fence() skip
#endif

proctype stores() { byte where, what;             /* a store arrives some time */
end: do :: atomic { buffer?where, what -> memory[where] = what; where = 0; what = 0 } od }

proctype owner() { byte own[ITEMS], bottom = START, i, t, op; bool alone;
  d_step { i = 0; do :: i < START -> own[i] = i + 1; i++ :: else -> break od; i = 0 };
  do
  :: op < OPS -> op++;
     if
     :: pushed < ITEMS ->                         /* push */
        d_step { pushed++; own[bottom] = pushed };
        buffer!bottom, pushed; bottom++; buffer!BOTTOM, bottom
     :: top < bottom ->                           /* pop */
        i = bottom - 1; buffer!BOTTOM, i;
        light_fence();
#ifdef LOOKS_LATE
        t = top; alone = (thieves == 0);
#else
        alone = (thieves == 0);
#ifndef OWNER_UNFENCED
        if :: !alone -> empty(buffer) :: else fi;
#endif
        t = top;
#endif
#ifdef LAST_FREE
        alone = true;
#endif
        if
        :: t < i || (t == i && alone) -> bottom = i; take(own[i])
        :: t == i && !alone ->
           atomic { empty(buffer) -> if :: top == t -> top++; take(own[i]) :: else fi };
           buffer!BOTTOM, bottom
        :: t > i -> buffer!BOTTOM, bottom
        fi
     :: t = top;                                  /* take_oldest */
        do
        :: t < bottom -> atomic { empty(buffer) -> if :: top == t -> top++; take(own[t]); break :: else -> t = top fi }
        :: else -> break
        od
     fi; i = 0; t = 0; alone = false
  :: break
  od }

proctype thief() { byte n, t, b, x, where, what;
#ifndef COUNTS_LATE
  thieves++;
#endif
#ifndef NO_HEAVY_FENCE
  heavy_fence();
#endif
#ifdef COUNTS_LATE
  thieves++;
#endif
  do
  :: n < BATCH ->
     t = top;
#ifdef OLD_BOTTOM
     if :: n == 0 -> b = memory[BOTTOM] :: else fi;
#else
     b = memory[BOTTOM];
#endif
     if :: t < b -> x = memory[t] :: else -> break fi;
     atomic { if :: top == t -> top++; n++; take(x) :: else -> break fi }
  :: else -> break
  od;
  thieves-- }

proctype monitor() { byte x, i;
  timeout -> d_step {
    assert(thieves == 0 && empty(buffer));
    x = 1;
    do
    :: x <= pushed ->
       there = taken[x]; i = top;
       do :: i < memory[BOTTOM] -> if :: memory[i] == x -> there++ :: else fi; i++ :: else -> break od;
       assert(there == 1); x++
    :: else -> break
    od } }

init { byte i; atomic {
  do :: i < START -> memory[i] = i + 1; i++ :: else -> break od;
  memory[BOTTOM] = START; pushed = START;
  run owner(); run stores(); run monitor();
  i = 0; do :: i < THIEVES -> run thief(); i++ :: else -> break od } }
