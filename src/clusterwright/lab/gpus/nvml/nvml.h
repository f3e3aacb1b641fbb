/* The interface of libnvidia-ml.so.1: numbers and layouts of NVIDIA's public NVML reference.
 * Only implemented functions are here; a caller does not find others, as with an old driver. */
#ifndef NVML_H
#define NVML_H

typedef struct gpu *nvmlDevice_t;
typedef struct event_set *nvmlEventSet_t;
typedef unsigned long long big;

typedef enum {
	NVML_SUCCESS = 0,
	NVML_ERROR_UNINITIALIZED = 1,
	NVML_ERROR_INVALID_ARGUMENT = 2,
	NVML_ERROR_NOT_SUPPORTED = 3,
	NVML_ERROR_NOT_FOUND = 6,
	NVML_ERROR_INSUFFICIENT_SIZE = 7,
	NVML_ERROR_DRIVER_NOT_LOADED = 9,
	NVML_ERROR_TIMEOUT = 10,
	NVML_ERROR_CORRUPTED_INFOROM = 14,
	NVML_ERROR_GPU_IS_LOST = 15,
	NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
	NVML_ERROR_MEMORY = 20,
	NVML_ERROR_ARGUMENT_VERSION_MISMATCH = 25,
	NVML_ERROR_UNKNOWN = 999
} nvmlReturn_t;

typedef struct {
	char busIdLegacy[16];
	unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
	char busId[32];
} nvmlPciInfo_t;

typedef struct {
	big total, free, used;
} nvmlMemory_t;

typedef struct {
	unsigned version;
	big total, reserved, free, used;
} nvmlMemory_v2_t;

typedef struct {
	unsigned gpu, memory;
} nvmlUtilization_t;

typedef struct {
	big l1Cache, l2Cache, deviceMemory, registerFile;
} nvmlEccErrorCounts_t;

typedef struct {
	unsigned max, high, partial, low, none;
} nvmlRowRemapperHistogramValues_t;

typedef struct {
	unsigned pid;
	big usedGpuMemory;
	unsigned gpuInstanceId, computeInstanceId;
} nvmlProcessInfo_t;

typedef struct {
	nvmlDevice_t device;
	big eventType, eventData;
	unsigned gpuInstanceId, computeInstanceId;
} nvmlEventData_t;

typedef struct {
	unsigned fieldId, scopeId;
	long long timestamp, latencyUsec;
	int valueType;
	nvmlReturn_t nvmlReturn;
	union {
		double dVal;
		unsigned uiVal;
		big ullVal;
	} value;
} nvmlFieldValue_t;

#define NVML_MEMORY_V2 0x02000028u /* size of the structure, and 2 in the highest byte */
#define NVML_EVENT_XID 0x8ull
#define NVML_VALUE_UNSIGNED_INT 1 /* nvmlValueType_t */
#define NVML_VALUE_UNSIGNED_LONG_LONG 3
#define NO_INSTANCE 0xFFFFFFFFu /* not a MIG instance */

#endif
