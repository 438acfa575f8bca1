/* SPDX-License-Identifier: MIT
   The end of a channel (channel_core.hpp, [CHAN-1..6]): two senders of one value each, a receiver that takes until it
   is told the end, two who close, and a request to stop against sender 0 (or, with STOP_RECEIVER, the receiver).
   CAPACITY is 0 or 1. NO_MEMORY: close finds no room for a drain list. REFUSES: the second closer is the receivers'.
   OPEN: nobody closes; the buffer is full, one value is taken.
   Holds: every value that was admitted is received once, in order, or given back; a send that fails keeps its value;
   every wait ends once; nobody sleeps on a closed channel, no sender beside room, no receiver beside a value.
   Must fail:
     FLAG_UNLOCKED    closed is looked at before the lock
     FIRST_ONLY       a lost claim means "nobody waits"
     MOVES_UNCLAIMED  close takes the value of a sender without its claim
     CLOSED_FIRST     the receiver looks at closed before buffer and drain list
     DRAIN_FIRST      the drain list before the buffer
     FAILS_DRAINED    senders whose values went into the drain list are told `closed`
     FORGETS_PARKED   without memory, `empty` does not look at parked senders
     CLOSES_TWICE     the second close does what the first did */
#ifndef CAPACITY
#define CAPACITY 1
#endif
#define SENT 1
#define CLOSED 2
#define STOPPED 3
#define RECEIVER 2
#define nobody 9

mtype = { running, parking, runnable };
mtype state[3]; byte reason[3]; bool left[3], delivered[3], stop[3];   /* the words; one wait each, but the receiver */
byte queued[3];
bool locked, linked[3]; byte place[3], places;                         /* the channel's lock and lists */
bool closed, refused; byte closes;
byte buffer, drain[2], drained;
byte into;                                                             /* the receiver's slot */
byte admitted[3], admissions, received[3], receipts, given_back;       /* ghosts */
byte outcome[2]; bool at_end; byte closers;

inline lock()   { atomic { !locked -> locked = true } }
inline unlock() { locked = false }
inline begin_park(me) {
  d_step { state[me] = parking; reason[me] = 0; left[me] = false; delivered[me] = false;
           linked[me] = true; places++; place[me] = places } }
/* takes the node out whether it wins or not */
inline claim(who, why, won) {
  d_step { won = (state[who] == parking && reason[who] == 0); linked[who] = false;
           if :: won -> reason[who] = why :: else fi } }
inline deliver(who) {
  d_step { delivered[who] = true;
           if :: left[who] -> assert(queued[who] == 0); queued[who]++; state[who] = runnable :: else fi } }
inline admit(s) { d_step { admitted[admissions] = s + 1; admissions++ } }

inline park(me, why, it) {
  it = false;
  if :: stop[me] -> d_step { it = (reason[me] == 0); if :: it -> reason[me] = STOPPED :: else fi } :: else fi;
  if
  :: it -> state[me] = running
  :: else ->
     d_step { left[me] = true; if :: delivered[me] -> queued[me]++; state[me] = runnable :: else fi };
end_parked:
     atomic { queued[me] > 0 -> queued[me]--; assert(left[me] && delivered[me]); state[me] = running }
  fi;
  why = reason[me];
  if :: linked[me] -> lock(); linked[me] = false; unlock() :: else fi }

inline oldest(who) {
  d_step { who = nobody;
           if
           :: linked[0] && (!linked[1] || place[0] < place[1]) -> who = 0
           :: linked[1] && (!linked[0] || place[1] < place[0]) -> who = 1
           :: else
           fi } }
inline claim_oldest(who, why, won) {
  won = false; oldest(who);
  do
  :: who != nobody && !won ->
     claim(who, why, won);
#ifdef FIRST_ONLY
     if :: !won -> who = nobody :: else fi
#else
     if :: !won -> oldest(who) :: else fi
#endif
  :: else -> break
  od }

proctype sender(byte me) { bool it; byte why;
#ifdef FLAG_UNLOCKED
  if :: closed -> outcome[me] = CLOSED; goto over :: else fi;
  lock();
#else
  lock();
  if :: closed -> unlock(); outcome[me] = CLOSED; goto over :: else fi;
#endif
  it = false;
  if :: linked[RECEIVER] -> claim(RECEIVER, SENT, it) :: else fi;
  if
  :: it -> into = me + 1; admit(me); unlock(); deliver(RECEIVER); outcome[me] = SENT
  :: !it && CAPACITY == 1 && buffer == 0 -> buffer = me + 1; admit(me); unlock(); outcome[me] = SENT
  :: else -> begin_park(me); unlock(); park(me, why, it); outcome[me] = why
  fi;
over: skip }

inline take_drained(value) { d_step { value = drain[0]; drain[0] = drain[1]; drain[1] = 0; drained-- } }

proctype receiver() { bool it; byte who, why, value;
  do
  :: value = 0; lock();
#ifdef CLOSED_FIRST
     if :: closed -> unlock(); break :: else fi;
#endif
#ifdef DRAIN_FIRST
     if :: drained > 0 -> take_drained(value); unlock(); goto took :: else fi;
#endif
     if
     :: buffer != 0 ->
        value = buffer; buffer = 0;
        claim_oldest(who, SENT, it);
        if :: it -> buffer = who + 1; admit(who); unlock(); deliver(who) :: else -> unlock() fi
     :: buffer == 0 && drained > 0 -> take_drained(value); unlock()
     :: else ->
#ifdef FORGETS_PARKED
        it = false; if :: closed -> skip :: else -> claim_oldest(who, SENT, it) fi;
#else
        claim_oldest(who, SENT, it);
#endif
        if
        :: it -> value = who + 1; admit(who); unlock(); deliver(who)
        :: !it && closed -> unlock(); break
        :: else ->
           into = 0; begin_park(RECEIVER); unlock(); park(RECEIVER, why, it);
           if
           :: why == SENT -> value = into; assert(value != 0)
           :: why == CLOSED -> assert(into == 0 && closed)
           :: else -> assert(into == 0); stop[RECEIVER] = false; break
           fi
        fi
     fi;
took:
     if :: value -> received[receipts] = value; receipts++ :: else fi;
#ifdef OPEN
     break
#endif
  od;
  at_end = true }

proctype closer() { bool it; byte who;
  lock();
#ifndef CLOSES_TWICE
  if :: closed -> unlock(); goto over :: else fi;
#endif
  closed = true; closes++;
#ifndef NO_MEMORY
  oldest(who);
  do
  :: who != nobody ->
#ifdef MOVES_UNCLAIMED
     claim(who, SENT, it); drain[drained] = who + 1; drained++; admit(who);
     if :: it -> deliver(who) :: else fi;
#else
#ifdef FAILS_DRAINED
     claim(who, CLOSED, it);
#else
     claim(who, SENT, it);
#endif
     if :: it -> drain[drained] = who + 1; drained++; admit(who); deliver(who) :: else fi;
#endif
     oldest(who)
  :: else -> break
  od;
#endif
  if :: linked[RECEIVER] -> claim(RECEIVER, CLOSED, it); if :: it -> deliver(RECEIVER) :: else fi :: else fi;
  unlock();
over: closers++ }

proctype refuser() { bool it; byte who;
  lock(); closed = true; refused = true;
  d_step { if :: buffer -> given_back++; buffer = 0 :: else fi; given_back = given_back + drained; drained = 0;
           drain[0] = 0; drain[1] = 0 };
  oldest(who);
  do
  :: who != nobody -> claim(who, CLOSED, it); if :: it -> deliver(who) :: else fi; oldest(who)
  :: else -> break
  od;
  if :: linked[RECEIVER] -> claim(RECEIVER, CLOSED, it); if :: it -> deliver(RECEIVER) :: else fi :: else fi;
  unlock();
  closers++ }

proctype canceller(byte who) {
  stop[who] = true;                                    /* heavy fence */
  d_step {
    if
    :: state[who] == parking && reason[who] == 0 ->
       reason[who] = STOPPED; delivered[who] = true;
       if :: left[who] -> assert(queued[who] == 0); queued[who]++; state[who] = runnable :: else fi
    :: else
    fi } }

proctype monitor() { byte i;
  timeout -> d_step {
    assert(!locked && at_end);
#ifdef OPEN
    assert(receipts == 1 && received[0] == 3);
    i = 0;
    do
    :: i < 2 -> assert(outcome[i] || (linked[i] && left[i] && reason[i] == 0 && buffer != 0)); i++
    :: else -> break
    od
#else
    assert(closers == 2 && outcome[0] && outcome[1] && !linked[0] && !linked[1] && !linked[2]);
    assert(closes <= 1);
    i = receipts + given_back + drained + (buffer != 0);
    assert(i == admissions);
#ifndef STOP_RECEIVER
    assert(drained == 0 && buffer == 0);
#endif
    i = 0; do :: i < receipts -> assert(received[i] == admitted[i]); i++ :: else -> break od;
    i = 0;
    do
    :: i < 2 ->
       assert((outcome[i] == SENT) == ((admissions > 0 && admitted[0] == i + 1) || (admissions > 1 && admitted[1] == i + 1)));
       i++
    :: else -> break
    od
#endif
    skip } }

init { atomic {
  state[0] = running; state[1] = running; state[2] = running;
  run sender(0); run sender(1); run receiver();
#ifdef OPEN
  buffer = 3; admitted[0] = 3; admissions = 1;
#else
  run closer();
#ifdef REFUSES
  run refuser();
#else
  run closer();
#endif
#endif
#ifdef STOP_RECEIVER
  run canceller(RECEIVER);
#else
  run canceller(0);
#endif
  run monitor() } }
