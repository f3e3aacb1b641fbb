/* One GPU: lookup and identity. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "gpu.h"

struct gpu gpus[MOST_GPUS];

unsigned gpu_count(void)
{
	big count;

	if (!state_number("gpus", &count))
		return 0;
	return count < MOST_GPUS ? (unsigned)count : MOST_GPUS;
}

static void key_of(nvmlDevice_t gpu, const char *key, char whole[MOST_LETTERS])
{
	snprintf(whole, MOST_LETTERS, "%u.%s", gpu->index, key);
}

big gpu_count_of(nvmlDevice_t gpu, const char *key)
{
	char whole[MOST_LETTERS];
	big number;

	key_of(gpu, key, whole);
	return state_number(whole, &number) ? number : 0;
}

nvmlReturn_t gpu_answers(nvmlDevice_t gpu)
{
	nvmlReturn_t answer = driver_answers();

	if (answer)
		return answer;
	if (gpu < gpus || gpu >= gpus + gpu_count())
		return NVML_ERROR_INVALID_ARGUMENT;
	return gpu_count_of(gpu, "lost") ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}

nvmlReturn_t gpu_text(nvmlDevice_t gpu, const char *key, char *text, unsigned room)
{
	char whole[MOST_LETTERS];
	nvmlReturn_t answer = gpu_answers(gpu);

	if (answer)
		return answer;
	if (!text)
		return NVML_ERROR_INVALID_ARGUMENT;
	key_of(gpu, key, whole);
	return state_text(whole, text, room) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t gpu_big(nvmlDevice_t gpu, const char *key, big *number)
{
	char whole[MOST_LETTERS];
	nvmlReturn_t answer = gpu_answers(gpu);

	if (answer)
		return answer;
	if (!number)
		return NVML_ERROR_INVALID_ARGUMENT;
	key_of(gpu, key, whole);
	return state_number(whole, number) ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t gpu_number(nvmlDevice_t gpu, const char *key, unsigned *number)
{
	big found = 0;
	nvmlReturn_t answer = gpu_big(gpu, key, number ? &found : NULL);

	if (!answer)
		*number = (unsigned)found;
	return answer;
}

nvmlReturn_t gpu_pair(nvmlDevice_t gpu, const char *one_key, unsigned *one, const char *other_key, unsigned *other)
{
	nvmlReturn_t answer = gpu_number(gpu, one_key, one);

	return answer ? answer : gpu_number(gpu, other_key, other);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count);
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *count)
{
	nvmlReturn_t answer = driver_answers();

	if (!answer)
		*count = gpu_count();
	return answer;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *gpu);
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *gpu)
{
	nvmlReturn_t answer = driver_answers();

	if (answer)
		return answer;
	if (index >= gpu_count())
		return NVML_ERROR_INVALID_ARGUMENT;
	gpus[index].index = index;
	*gpu = gpus + index;
	return gpu_answers(*gpu);
}

static nvmlReturn_t find(const char *key, const char *wanted, nvmlDevice_t *gpu)
{
	nvmlReturn_t answer = driver_answers();
	char whole[MOST_LETTERS], value[MOST_LETTERS];

	if (answer)
		return answer;
	for (unsigned index = 0; index < gpu_count(); index++) {
		snprintf(whole, sizeof whole, "%u.%s", index, key);
		if (state_text(whole, value, sizeof value) && strcasecmp(value, wanted) == 0)
			return nvmlDeviceGetHandleByIndex_v2(index, gpu);
	}
	return NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *gpu);
nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *gpu) { return find("uuid", uuid, gpu); }

nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *gpu);
nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *gpu)
{
	return find("serial", serial, gpu);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *address, nvmlDevice_t *gpu);
nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *address, nvmlDevice_t *gpu)
{
	unsigned domain = 0, bus, device, function;
	char whole[MOST_LETTERS];

	if (sscanf(address, "%x:%x:%x.%x", &domain, &bus, &device, &function) < 3) {
		domain = 0;
		if (sscanf(address, "%x:%x.%x", &bus, &device, &function) < 2)
			return NVML_ERROR_INVALID_ARGUMENT;
	}
	snprintf(whole, sizeof whole, "%08X:%02X:%02X.0", domain, bus, device);
	return find("pci", whole, gpu);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t gpu, nvmlPciInfo_t *pci);
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t gpu, nvmlPciInfo_t *pci)
{
	memset(pci, 0, sizeof *pci);
	nvmlReturn_t answer = gpu_text(gpu, "pci", pci->busId, sizeof pci->busId);
	if (answer)
		return answer;
	if (sscanf(pci->busId, "%x:%x:%x", &pci->domain, &pci->bus, &pci->device) != 3)
		return NVML_ERROR_UNKNOWN;
	snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, "%04X:%02X:%02X.0",
		 pci->domain & 0xFFFFu, pci->bus & 0xFFu, pci->device & 0xFFu);
	pci->pciDeviceId = (unsigned)gpu_count_of(gpu, "pci.device_id");
	pci->pciSubSystemId = (unsigned)gpu_count_of(gpu, "pci.subsystem_id");
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t gpu, unsigned *index);
nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t gpu, unsigned *index)
{
	nvmlReturn_t answer = gpu_answers(gpu);

	if (!answer)
		*index = gpu->index;
	return answer;
}

nvmlReturn_t nvmlDeviceGetInforomVersion(nvmlDevice_t gpu, int object, char *text, unsigned room);
nvmlReturn_t nvmlDeviceGetInforomVersion(nvmlDevice_t gpu, int object, char *text, unsigned room)
{
	(void)object;
	return gpu_text(gpu, "inforom", text, room);
}

nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t gpu);
nvmlReturn_t nvmlDeviceValidateInforom(nvmlDevice_t gpu)
{
	nvmlReturn_t answer = gpu_answers(gpu);

	if (answer)
		return answer;
	return gpu_count_of(gpu, "inforom.corrupted") ? NVML_ERROR_CORRUPTED_INFOROM : NVML_SUCCESS;
}

TEXT(nvmlDeviceGetName, "name")
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetBoardPartNumber, "board")
TEXT(nvmlDeviceGetVbiosVersion, "vbios")
TEXT(nvmlDeviceGetInforomImageVersion, "inforom")
NUMBER(nvmlDeviceGetMinorNumber, "minor")
PAIR(nvmlDeviceGetCudaComputeCapability, "capability.major", "capability.minor")
NUMBER(nvmlDeviceGetArchitecture, "architecture")
NUMBER(nvmlDeviceGetPersistenceMode, "persistence")
NUMBER(nvmlDeviceGetComputeMode, "compute_mode")
NUMBER(nvmlDeviceGetNumaNodeId, "socket")
PAIR(nvmlDeviceGetMigMode, "mig.current", "mig.pending")
