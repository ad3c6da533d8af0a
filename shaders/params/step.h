// The step of a sequence: a small device buffer, written by the host when the sequence's tokens are changed, and by the
// device from run to run.
// In graphs a u32 tensor [STEP_WORDS], or [sequences, STEP_WORDS] where a run has several; floats are stored by their
// bits.
#include "params/types.h"
#ifndef VANTAGE_STEP_H
#define VANTAGE_STEP_H
#define STEP_POSITION 0  // position of the first row that the run has of the sequence
#define STEP_VALID 1     // rows that the run has of the sequence; the others are padding
#define STEP_END 2       // tokens that may run: the prompt's and the generated ones; fewer while the host holds it
#define STEP_KEYS 3      // rows of the cache that are valid after this run's are written: position + valid
// 0 = goes on, 1 = no draw: an end token came, or the host wants none, 2 = context full, STEP_NO_ANSWER = the
// logits have a NaN or +inf, or are all -inf
#define STEP_DONE 4
#define STEP_NO_ANSWER 3
#define STEP_LIMIT 5  // tokens that fit: the context's size; 0 = the host ended the sequence
#define STEP_SEED_LOW 6
#define STEP_SEED_HIGH 7
#define STEP_TEMPERATURE 8  // float bits; 0 = greedy
#define STEP_TOP_K 9        // 0 = all
#define STEP_TOP_P 10       // float bits; 1 = all
#define STEP_MIN_P 11       // float bits; 0 = all
#define STEP_PENALTY 12     // float bits; 1 = none
#define STEP_END_TOKENS 13  // how many of the following end a sequence
#define STEP_END_TOKEN 14   // up to 8 ids
// Which sequence a lane of a run works for: in row `lane` of the steps, sequence = lane + this (modulo 2^32).
// Everything else in a row is of the sequence with that number.
#define STEP_SHIFT 22
#define STEP_BIASED 23  // not 0: sample's bias is added to the logits
#define STEP_WORDS 32
#endif
