/* Memory: size and errors. */
#include <stdio.h>

#include "gpu.h"

static nvmlReturn_t sizes(nvmlDevice_t gpu, big *total, big *used, big *reserved)
{
	nvmlReturn_t answer = gpu_big(gpu, "memory.total", total);

	if (!answer) {
		*used = gpu_count_of(gpu, "memory.used");
		*reserved = gpu_count_of(gpu, "memory.reserved");
	}
	return answer;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t gpu, nvmlMemory_t *memory);
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t gpu, nvmlMemory_t *memory)
{
	big total, used, reserved;
	nvmlReturn_t answer = sizes(gpu, &total, &used, &reserved);

	if (!answer) /* the first version counts as used what the driver keeps */
		*memory = (nvmlMemory_t){.total = total, .free = total - used - reserved, .used = used + reserved};
	return answer;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t gpu, nvmlMemory_v2_t *memory);
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t gpu, nvmlMemory_v2_t *memory)
{
	nvmlReturn_t answer;

	if (memory->version != NVML_MEMORY_V2)
		return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
	answer = sizes(gpu, &memory->total, &memory->used, &memory->reserved);
	if (!answer)
		memory->free = memory->total - memory->used - memory->reserved;
	return answer;
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t gpu, nvmlMemory_t *memory);
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t gpu, nvmlMemory_t *memory)
{
	big total;
	nvmlReturn_t answer = gpu_big(gpu, "memory.total", &total);

	if (!answer)
		*memory = (nvmlMemory_t){.total = total, .free = total, .used = 0};
	return answer;
}

/* Where an error was counted, by NVML's numbers. */
static const char *const locations[] = {"l1", "l2", "dram", "register", "texture", "shared", "cbu", "sram"};
enum { LOCATIONS = sizeof locations / sizeof *locations };

static nvmlReturn_t ecc_is_on(nvmlDevice_t gpu)
{
	unsigned mode;
	nvmlReturn_t answer = gpu_number(gpu, "ecc.current", &mode);

	if (answer)
		return answer;
	return mode ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

static big errors(nvmlDevice_t gpu, int type, int counter, int location)
{
	char key[MOST_LETTERS];

	snprintf(key, sizeof key, "ecc.%s.%s.%s", type ? "uncorrected" : "corrected",
		 counter ? "aggregate" : "volatile", locations[location]);
	return gpu_count_of(gpu, key);
}

nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t gpu, int type, int counter, int location, big *count);
nvmlReturn_t nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t gpu, int type, int counter, int location, big *count)
{
	nvmlReturn_t answer = ecc_is_on(gpu);

	if (answer)
		return answer;
	if (location < 0 || location >= LOCATIONS)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = errors(gpu, type, counter, location);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t gpu, int type, int counter, big *count);
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t gpu, int type, int counter, big *count)
{
	nvmlReturn_t answer = ecc_is_on(gpu);

	if (answer)
		return answer;
	*count = 0;
	for (int location = 0; location < LOCATIONS; location++)
		*count += errors(gpu, type, counter, location);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetDetailedEccErrors(nvmlDevice_t gpu, int type, int counter, nvmlEccErrorCounts_t *counts);
nvmlReturn_t nvmlDeviceGetDetailedEccErrors(nvmlDevice_t gpu, int type, int counter, nvmlEccErrorCounts_t *counts)
{
	nvmlReturn_t answer = ecc_is_on(gpu);

	if (!answer)
		*counts = (nvmlEccErrorCounts_t){
			errors(gpu, type, counter, 0), errors(gpu, type, counter, 1),
			errors(gpu, type, counter, 2), errors(gpu, type, counter, 3),
		};
	return answer;
}

/* Rows are remapped since Ampere, pages retired before; a GPU does one of the two. */
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t gpu, unsigned *corrected, unsigned *uncorrected,
				       unsigned *pending, unsigned *failure);
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t gpu, unsigned *corrected, unsigned *uncorrected,
				       unsigned *pending, unsigned *failure)
{
	nvmlReturn_t answer = gpu_pair(gpu, "remap.corrected", corrected, "remap.uncorrected", uncorrected);

	return answer ? answer : gpu_pair(gpu, "remap.pending", pending, "remap.failure", failure);
}

nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t gpu, nvmlRowRemapperHistogramValues_t *values);
nvmlReturn_t nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t gpu, nvmlRowRemapperHistogramValues_t *values)
{
	unsigned banks;
	nvmlReturn_t answer = gpu_number(gpu, "remap.banks", &banks);
	unsigned used = (unsigned)gpu_count_of(gpu, "remap.uncorrected");

	if (!answer) /* each remapped row is taken from a bank of its own */
		*values = (nvmlRowRemapperHistogramValues_t){.max = banks - used, .high = used};
	return answer;
}

NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "retired.pending")

static nvmlReturn_t retired(nvmlDevice_t gpu, int cause, unsigned *count, big *addresses)
{
	unsigned there, room = *count;
	nvmlReturn_t answer = gpu_number(gpu, cause ? "retired.double_bit" : "retired.single_bit", &there);

	if (answer)
		return answer;
	*count = there;
	if (there > room || (there && !addresses))
		return NVML_ERROR_INSUFFICIENT_SIZE;
	for (unsigned page = 0; page < there; page++)
		addresses[page] = page;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t gpu, int cause, unsigned *count, big *addresses);
nvmlReturn_t nvmlDeviceGetRetiredPages(nvmlDevice_t gpu, int cause, unsigned *count, big *addresses)
{
	return retired(gpu, cause, count, addresses);
}

nvmlReturn_t nvmlDeviceGetRetiredPages_v2(nvmlDevice_t gpu, int cause, unsigned *count, big *addresses, big *times);
nvmlReturn_t nvmlDeviceGetRetiredPages_v2(nvmlDevice_t gpu, int cause, unsigned *count, big *addresses, big *times)
{
	nvmlReturn_t answer = retired(gpu, cause, count, addresses);

	for (unsigned page = 0; !answer && times && page < *count; page++)
		times[page] = 0;
	return answer;
}

PAIR(nvmlDeviceGetEccMode, "ecc.current", "ecc.pending")
