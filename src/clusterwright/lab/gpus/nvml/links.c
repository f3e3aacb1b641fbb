/* Connections of a GPU: PCI Express, NVLink, and the topology level of two GPUs. */
#include <stdio.h>
#include <string.h>

#include "gpu.h"

#define NVML_TOPOLOGY_NODE 40
#define NVML_TOPOLOGY_SYSTEM 50
#define NVLINK_REMOTE_SWITCH 2

static nvmlReturn_t link_of(nvmlDevice_t gpu, unsigned link)
{
	unsigned links;
	nvmlReturn_t answer = gpu_number(gpu, "nvlink.links", &links);

	if (answer)
		return answer;
	return link < links ? NVML_SUCCESS : NVML_ERROR_INVALID_ARGUMENT;
}

static big link_value(nvmlDevice_t gpu, unsigned link, const char *key)
{
	char whole[MOST_LETTERS];

	snprintf(whole, sizeof whole, "nvlink.%u.%s", link, key);
	return gpu_count_of(gpu, whole);
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t gpu, unsigned link, unsigned *is_active);
nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t gpu, unsigned link, unsigned *is_active)
{
	nvmlReturn_t answer = link_of(gpu, link);

	if (!answer)
		*is_active = link_value(gpu, link, "down") ? 0 : 1;
	return answer;
}

nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t gpu, unsigned link, unsigned *version);
nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t gpu, unsigned link, unsigned *version)
{
	nvmlReturn_t answer = link_of(gpu, link);

	return answer ? answer : gpu_number(gpu, "nvlink.version", version);
}

nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t gpu, unsigned link, unsigned capability, unsigned *has);
nvmlReturn_t nvmlDeviceGetNvLinkCapability(nvmlDevice_t gpu, unsigned link, unsigned capability, unsigned *has)
{
	enum { SLI_BRIDGE = 4 };
	nvmlReturn_t answer = link_of(gpu, link);

	if (!answer)
		*has = capability != SLI_BRIDGE;
	return answer;
}

static const char *const counters[] = {"replay", "recovery", "crc_flit", "crc_data", "ecc_data"};

nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t gpu, unsigned link, unsigned counter, big *count);
nvmlReturn_t nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t gpu, unsigned link, unsigned counter, big *count)
{
	nvmlReturn_t answer = link_of(gpu, link);

	if (answer)
		return answer;
	if (counter >= sizeof counters / sizeof *counters)
		return NVML_ERROR_INVALID_ARGUMENT;
	*count = link_value(gpu, link, counters[counter]);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t gpu, unsigned link, unsigned *type);
nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t gpu, unsigned link, unsigned *type)
{
	nvmlReturn_t answer = link_of(gpu, link);

	if (!answer)
		*type = NVLINK_REMOTE_SWITCH;
	return answer;
}

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other, unsigned *level);
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t one, nvmlDevice_t other, unsigned *level)
{
	nvmlReturn_t answer = gpu_answers(one);

	if (!answer)
		answer = gpu_answers(other);
	if (!answer)
		*level = gpu_count_of(one, "socket") == gpu_count_of(other, "socket") ? NVML_TOPOLOGY_NODE
										    : NVML_TOPOLOGY_SYSTEM;
	return answer;
}

nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t gpu, unsigned counter, unsigned *kb_per_s);
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t gpu, unsigned counter, unsigned *kb_per_s)
{
	return gpu_number(gpu, counter ? "pcie.rx" : "pcie.tx", kb_per_s);
}

/* The few of NVML's 300 fields that tools read besides the functions above. */
static nvmlReturn_t field(nvmlDevice_t gpu, nvmlFieldValue_t *field)
{
	enum { NVLINK_SPEED_MBPS = 90, NVLINK_LINK_COUNT = 91, MEMORY_TEMPERATURE = 82 };

	field->valueType = NVML_VALUE_UNSIGNED_INT;
	switch (field->fieldId) {
	case NVLINK_SPEED_MBPS: return gpu_number(gpu, "nvlink.speed_mbps", &field->value.uiVal);
	case NVLINK_LINK_COUNT: return gpu_number(gpu, "nvlink.links", &field->value.uiVal);
	case MEMORY_TEMPERATURE: return gpu_number(gpu, "temperature.memory", &field->value.uiVal);
	default: return NVML_ERROR_NOT_SUPPORTED;
	}
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t gpu, int count, nvmlFieldValue_t *values);
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t gpu, int count, nvmlFieldValue_t *values)
{
	nvmlReturn_t answer = gpu_answers(gpu);

	for (int each = 0; !answer && each < count; each++)
		values[each].nvmlReturn = field(gpu, values + each);
	return answer;
}

NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie.gen")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "pcie.width")
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie.max_gen")
NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, "pcie.max_gen")
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, "pcie.max_width")
NUMBER(nvmlDeviceGetPcieReplayCounter, "pcie.replays")
