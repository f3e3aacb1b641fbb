/* Load of a GPU: temperature, power, clocks and throttle reasons. */
#include <stdio.h>
#include <time.h>

#include "gpu.h"

static const char *const clocks[] = {"graphics", "sm", "memory", "video"};
static const char *const thresholds[] = {"shutdown", "slowdown", "memory_max", "gpu_max"};
#define HAS(table, number) ((number) < sizeof(table) / sizeof *(table))

static nvmlReturn_t of(nvmlDevice_t gpu, const char *begin, const char *end, unsigned *number)
{
	char key[MOST_LETTERS];

	snprintf(key, sizeof key, "%s.%s", begin, end);
	return gpu_number(gpu, key, number);
}

static nvmlReturn_t clock_of(nvmlDevice_t gpu, const char *kind, unsigned domain, unsigned *mhz)
{
	return HAS(clocks, domain) ? of(gpu, kind, clocks[domain], mhz) : NVML_ERROR_INVALID_ARGUMENT;
}

#define CLOCK(function, kind) \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned domain, unsigned *mhz); \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned domain, unsigned *mhz) \
	{ \
		return clock_of(gpu, kind, domain, mhz); \
	}

CLOCK(nvmlDeviceGetClockInfo, "clock")
CLOCK(nvmlDeviceGetMaxClockInfo, "clock.max")
CLOCK(nvmlDeviceGetApplicationsClock, "clock.applications")
CLOCK(nvmlDeviceGetDefaultApplicationsClock, "clock.applications")
CLOCK(nvmlDeviceGetMaxCustomerBoostClock, "clock.max")

nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t gpu, unsigned domain, unsigned id, unsigned *mhz);
nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t gpu, unsigned domain, unsigned id, unsigned *mhz)
{
	static const char *const kinds[] = {"clock", "clock.applications", "clock.applications", "clock.max"};

	return HAS(kinds, id) ? clock_of(gpu, kinds[id], domain, mhz) : NVML_ERROR_INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t gpu, unsigned sensor, unsigned *celsius);
nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t gpu, unsigned sensor, unsigned *celsius)
{
	return sensor ? NVML_ERROR_INVALID_ARGUMENT : gpu_number(gpu, "temperature", celsius);
}

nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t gpu, unsigned threshold, unsigned *celsius);
nvmlReturn_t nvmlDeviceGetTemperatureThreshold(nvmlDevice_t gpu, unsigned threshold, unsigned *celsius)
{
	if (!HAS(thresholds, threshold))
		return NVML_ERROR_NOT_SUPPORTED;
	return of(gpu, "temperature", thresholds[threshold], celsius);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t gpu, nvmlUtilization_t *percent);
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t gpu, nvmlUtilization_t *percent)
{
	return gpu_pair(gpu, "utilization.gpu", &percent->gpu, "utilization.memory", &percent->memory);
}

static nvmlReturn_t reasons(nvmlDevice_t gpu, big *mask) { return gpu_big(gpu, "clock.reasons", mask); }

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t gpu, big *mask);
nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t gpu, big *mask) { return reasons(gpu, mask); }

nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t gpu, big *mask);
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t gpu, big *mask) { return reasons(gpu, mask); }

static nvmlReturn_t all_reasons(nvmlDevice_t gpu, big *mask)
{
	nvmlReturn_t answer = gpu_answers(gpu);

	if (!answer)
		*mask = 0x1FF;
	return answer;
}

nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t gpu, big *mask);
nvmlReturn_t nvmlDeviceGetSupportedClocksThrottleReasons(nvmlDevice_t gpu, big *mask)
{
	return all_reasons(gpu, mask);
}

nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t gpu, big *mask);
nvmlReturn_t nvmlDeviceGetSupportedClocksEventReasons(nvmlDevice_t gpu, big *mask) { return all_reasons(gpu, mask); }

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t gpu, big *millijoules);
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t gpu, big *millijoules)
{
	unsigned milliwatts;
	struct timespec up;
	nvmlReturn_t answer = gpu_number(gpu, "power", &milliwatts);

	if (answer)
		return answer;
	clock_gettime(CLOCK_MONOTONIC, &up);
	*millijoules = (big)milliwatts * (big)up.tv_sec + (big)milliwatts * (big)up.tv_nsec / 1000000000ull;
	return NVML_SUCCESS;
}

NUMBER(nvmlDeviceGetPerformanceState, "pstate")
NUMBER(nvmlDeviceGetPowerState, "pstate")
NUMBER(nvmlDeviceGetPowerUsage, "power")
NUMBER(nvmlDeviceGetPowerManagementMode, "power.management")
NUMBER(nvmlDeviceGetPowerManagementLimit, "power.limit")
NUMBER(nvmlDeviceGetPowerManagementDefaultLimit, "power.default_limit")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power.limit")
PAIR(nvmlDeviceGetPowerManagementLimitConstraints, "power.min_limit", "power.max_limit")
