// clock.h: time that only goes forward.
#ifndef CLI_CLOCK_H
#define CLI_CLOCK_H

// Milliseconds since some moment.
double cli_now_ms(void);

#endif
