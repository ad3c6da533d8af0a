// Which states of a state-space layer a sequence keeps: those before every position that is a multiple of STATE_EVERY,
// and those before its last positions, whichever they are.
#ifndef VANTAGE_KEPT_STATES_H
#define VANTAGE_KEPT_STATES_H
#define STATE_EVERY 128
#define STATE_RECENT 4
#endif
