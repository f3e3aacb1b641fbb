/* XIDs as events, and compute processes. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "gpu.h"

/* `xid.at` changes with each XID; a set stores the last value it has read. */
struct event_set {
	bool watched[MOST_GPUS];
	big seen[MOST_GPUS];
};

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set);
nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
	nvmlReturn_t answer = driver_answers();

	if (answer)
		return answer;
	*set = calloc(1, sizeof **set);
	return *set ? NVML_SUCCESS : NVML_ERROR_MEMORY;
}

nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set);
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
	free(set);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t gpu, big *types);
nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t gpu, big *types)
{
	nvmlReturn_t answer = gpu_answers(gpu);

	if (!answer)
		*types = NVML_EVENT_XID;
	return answer;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t gpu, big types, nvmlEventSet_t set);
nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t gpu, big types, nvmlEventSet_t set)
{
	nvmlReturn_t answer = gpu_answers(gpu);

	if (answer)
		return answer;
	if (types & ~NVML_EVENT_XID)
		return NVML_ERROR_NOT_SUPPORTED;
	set->watched[gpu->index] = types != 0;
	set->seen[gpu->index] = gpu_count_of(gpu, "xid.at");
	return NVML_SUCCESS;
}

static bool happened(nvmlEventSet_t set, nvmlEventData_t *data)
{
	for (unsigned index = 0; index < gpu_count(); index++) {
		big at = set->watched[index] ? gpu_count_of(gpus + index, "xid.at") : 0;
		if (at && at != set->seen[index]) {
			set->seen[index] = at;
			*data = (nvmlEventData_t){
				gpus + index, NVML_EVENT_XID, gpu_count_of(gpus + index, "xid"), NO_INSTANCE, NO_INSTANCE,
			};
			return true;
		}
	}
	return false;
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned limit_ms);
nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned limit_ms)
{
	enum { LOOK_EVERY_MS = 50 };
	const struct timespec moment = {.tv_sec = 0, .tv_nsec = LOOK_EVERY_MS * 1000000};

	for (unsigned waited_ms = 0;; waited_ms += LOOK_EVERY_MS) {
		nvmlReturn_t answer = driver_answers();
		if (answer)
			return answer;
		if (happened(set, data))
			return NVML_SUCCESS;
		if (waited_ms >= limit_ms)
			return NVML_ERROR_TIMEOUT;
		nanosleep(&moment, NULL);
	}
}

/* `processes`: PID:BYTES of each, with spaces between. */
static nvmlReturn_t processes(nvmlDevice_t gpu, unsigned *count, nvmlProcessInfo_t *found)
{
	char list[1024] = "";
	unsigned room = *count, there = 0;
	nvmlReturn_t answer = gpu_text(gpu, "processes", list, sizeof list);

	if (answer && answer != NVML_ERROR_NOT_SUPPORTED)
		return answer;
	for (char *word = list; *word; there++) {
		unsigned pid = (unsigned)strtoul(word, &word, 10);
		big bytes = *word == ':' ? strtoull(word + 1, &word, 10) : 0;
		if (there < room && found)
			found[there] = (nvmlProcessInfo_t){pid, bytes, NO_INSTANCE, NO_INSTANCE};
		while (*word && (*word < '0' || *word > '9'))
			word++;
	}
	*count = there;
	return there > room || (there && !found) ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

#define PROCESSES(function) \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned *count, nvmlProcessInfo_t *found); \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned *count, nvmlProcessInfo_t *found) \
	{ \
		return processes(gpu, count, found); \
	}

PROCESSES(nvmlDeviceGetComputeRunningProcesses_v2)
PROCESSES(nvmlDeviceGetComputeRunningProcesses_v3)

static nvmlReturn_t no_processes(nvmlDevice_t gpu, unsigned *count)
{
	nvmlReturn_t answer = gpu_answers(gpu);

	if (!answer)
		*count = 0;
	return answer;
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t gpu, unsigned *count, nvmlProcessInfo_t *found);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t gpu, unsigned *count, nvmlProcessInfo_t *found)
{
	(void)found;
	return no_processes(gpu, count);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t gpu, unsigned *count, nvmlProcessInfo_t *found);
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t gpu, unsigned *count, nvmlProcessInfo_t *found)
{
	return nvmlDeviceGetGraphicsRunningProcesses_v3(gpu, count, found);
}
