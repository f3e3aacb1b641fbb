/* Shared by this library's files: the state of the host's GPUs, read from a text of `key value` lines. */
#ifndef GPU_H
#define GPU_H

#include <stdbool.h>
#include <stddef.h>

#include "nvml.h"

#define MOST_GPUS 128
#define MOST_LETTERS 96

struct gpu {
	unsigned index;
};
extern struct gpu gpus[MOST_GPUS];

/* state.c: the value of a key, of the last line that has it. */
bool state_is_there(void);
bool state_text(const char *key, char *text, size_t room);
bool state_number(const char *key, big *number);

/* device.c: the same for one GPU, whose keys begin with its index and a dot; the errors it may return. */
unsigned gpu_count(void);
nvmlReturn_t gpu_answers(nvmlDevice_t gpu);
nvmlReturn_t gpu_text(nvmlDevice_t gpu, const char *key, char *text, unsigned room);
nvmlReturn_t gpu_big(nvmlDevice_t gpu, const char *key, big *number);
nvmlReturn_t gpu_number(nvmlDevice_t gpu, const char *key, unsigned *number);
nvmlReturn_t gpu_pair(nvmlDevice_t gpu, const char *one_key, unsigned *one, const char *other_key, unsigned *other);
big gpu_count_of(nvmlDevice_t gpu, const char *key); /* 0 where the state has none: counters begin there */

/* system.c: whether nvmlInit was called, and the driver answers; does not return while the driver hangs. */
nvmlReturn_t driver_answers(void);

#define NUMBER(function, key) \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned *number); \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned *number) { return gpu_number(gpu, key, number); }

#define PAIR(function, one_key, other_key) \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned *one, unsigned *other); \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned *one, unsigned *other) \
	{ \
		return gpu_pair(gpu, one_key, one, other_key, other); \
	}

#define TEXT(function, key) \
	nvmlReturn_t function(nvmlDevice_t gpu, char *text, unsigned room); \
	nvmlReturn_t function(nvmlDevice_t gpu, char *text, unsigned room) { return gpu_text(gpu, key, text, room); }

#endif
