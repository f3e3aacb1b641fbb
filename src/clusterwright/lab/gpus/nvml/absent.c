/* Functions that no simulated GPU supports: they return NOT_SUPPORTED, or an empty result. */
#include "gpu.h"

/* Other arguments are ignored. */
#define ABSENT(function) \
	nvmlReturn_t function(nvmlDevice_t gpu); \
	nvmlReturn_t function(nvmlDevice_t gpu) \
	{ \
		nvmlReturn_t answer = gpu_answers(gpu); \
		return answer ? answer : NVML_ERROR_NOT_SUPPORTED; \
	}

#define NONE(function) \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned *number); \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned *number) \
	{ \
		nvmlReturn_t answer = gpu_answers(gpu); \
		if (!answer) \
			*number = 0; \
		return answer; \
	}

/* Percent, and the sampling period in microseconds. */
#define IDLE(function) \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned *percent, unsigned *period_us); \
	nvmlReturn_t function(nvmlDevice_t gpu, unsigned *percent, unsigned *period_us) \
	{ \
		nvmlReturn_t answer = gpu_answers(gpu); \
		if (!answer) { \
			*percent = 0; \
			*period_us = 1000000; \
		} \
		return answer; \
	}

ABSENT(nvmlDeviceGetAccountingMode)
ABSENT(nvmlDeviceGetAttributes_v2)
ABSENT(nvmlDeviceGetAutoBoostedClocksEnabled)
ABSENT(nvmlDeviceGetBoardId)
ABSENT(nvmlDeviceGetBrand)
ABSENT(nvmlDeviceGetBridgeChipInfo)
ABSENT(nvmlDeviceGetCpuAffinity)
ABSENT(nvmlDeviceGetDriverModel)
ABSENT(nvmlDeviceGetEncoderStats)
ABSENT(nvmlDeviceGetFanSpeed)
ABSENT(nvmlDeviceGetFanSpeed_v2)
ABSENT(nvmlDeviceGetGpuFabricInfo)
ABSENT(nvmlDeviceGetGpuFabricInfoV)
ABSENT(nvmlDeviceGetGpuInstanceId)
ABSENT(nvmlDeviceGetGpuOperationMode)
ABSENT(nvmlDeviceGetMarginTemperature)
ABSENT(nvmlDeviceGetMemoryBusWidth)
ABSENT(nvmlDeviceGetMigDeviceHandleByIndex)
ABSENT(nvmlDeviceGetModuleId)
ABSENT(nvmlDeviceGetNumGpuCores)
ABSENT(nvmlDeviceGetP2PStatus)
ABSENT(nvmlDeviceGetProcessUtilization)
ABSENT(nvmlDeviceGetSamples)
ABSENT(nvmlDeviceGetSupportedGraphicsClocks)
ABSENT(nvmlDeviceGetSupportedMemoryClocks)
ABSENT(nvmlDeviceGetViolationStatus)
NONE(nvmlDeviceGetDisplayActive)
NONE(nvmlDeviceGetDisplayMode)
NONE(nvmlDeviceGetMaxMigDeviceCount)
NONE(nvmlDeviceGetMultiGpuBoard)
NONE(nvmlDeviceGetNumFans)
NONE(nvmlDeviceGetVirtualizationMode)
NONE(nvmlDeviceIsMigDeviceHandle)
IDLE(nvmlDeviceGetDecoderUtilization)
IDLE(nvmlDeviceGetEncoderUtilization)
IDLE(nvmlDeviceGetJpgUtilization)
IDLE(nvmlDeviceGetOfaUtilization)
