/* The library as a whole: initialization, versions, error texts. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "gpu.h"

static atomic_int users;

static void wait_while_hanging(void)
{
	const struct timespec moment = {.tv_sec = 0, .tv_nsec = 100 * 1000 * 1000};
	big hangs;

	while (state_number("driver.hangs", &hangs) && hangs)
		nanosleep(&moment, NULL);
}

nvmlReturn_t driver_answers(void)
{
	if (!users)
		return NVML_ERROR_UNINITIALIZED;
	wait_while_hanging();
	return state_is_there() ? NVML_SUCCESS : NVML_ERROR_UNKNOWN;
}

nvmlReturn_t nvmlInitWithFlags(unsigned flags);
nvmlReturn_t nvmlInitWithFlags(unsigned flags)
{
	big mismatch;

	(void)flags;
	if (!state_is_there())
		return NVML_ERROR_DRIVER_NOT_LOADED;
	wait_while_hanging();
	if (state_number("driver.mismatch", &mismatch) && mismatch)
		return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
	users++;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlInit_v2(void);
nvmlReturn_t nvmlInit_v2(void) { return nvmlInitWithFlags(0); }

nvmlReturn_t nvmlInit(void);
nvmlReturn_t nvmlInit(void) { return nvmlInitWithFlags(0); }

nvmlReturn_t nvmlShutdown(void);
nvmlReturn_t nvmlShutdown(void)
{
	if (!users)
		return NVML_ERROR_UNINITIALIZED;
	users--;
	return NVML_SUCCESS;
}

static nvmlReturn_t system_text(const char *key, char *text, unsigned room)
{
	nvmlReturn_t answer = driver_answers();

	if (answer)
		return answer;
	return state_text(key, text, room) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *text, unsigned room);
nvmlReturn_t nvmlSystemGetDriverVersion(char *text, unsigned room)
{
	return system_text("driver.version", text, room);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *text, unsigned room);
nvmlReturn_t nvmlSystemGetNVMLVersion(char *text, unsigned room)
{
	return state_text("driver.nvml", text, room) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version);
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	big number;

	if (!version)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (!state_number("driver.cuda", &number))
		return NVML_ERROR_NOT_SUPPORTED;
	*version = (int)number;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version);
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) { return nvmlSystemGetCudaDriverVersion_v2(version); }

nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char *name, unsigned room);
nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char *name, unsigned room)
{
	char path[32];

	snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
	FILE *line = fopen(path, "r");
	if (!line)
		return NVML_ERROR_NOT_FOUND;
	size_t length = fread(name, 1, room - 1, line);
	fclose(line);
	name[length] = '\0'; /* the first word ends with a zero of its own */
	return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t answer);
const char *nvmlErrorString(nvmlReturn_t answer)
{
	switch (answer) {
	case NVML_SUCCESS: return "Success";
	case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
	case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
	case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
	case NVML_ERROR_NOT_FOUND: return "Not Found";
	case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
	case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
	case NVML_ERROR_TIMEOUT: return "Timeout";
	case NVML_ERROR_CORRUPTED_INFOROM: return "Corrupted infoROM";
	case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
	case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "Driver/library version mismatch";
	case NVML_ERROR_MEMORY: return "Insufficient Memory";
	case NVML_ERROR_ARGUMENT_VERSION_MISMATCH: return "Argument version mismatch";
	default: return "Unknown Error";
	}
}
