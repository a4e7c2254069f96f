// The ways in which a device can fail. Everything that gpu/ throws derives from DeviceError.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace mnistd::gpu {

// A device call failed. The message names the failed expression, its place, and what the driver said.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The device has no room. Fails the job that asked; the device stays usable.
class OutOfDeviceMemory : public DeviceError {
 public:
  OutOfDeviceMemory(std::size_t requested_bytes, const std::string& message)
      : DeviceError(message), requested_bytes_(requested_bytes) {}
  std::size_t requested_bytes() const { return requested_bytes_; }

 private:
  std::size_t requested_bytes_;
};

// A sticky fault (reset, hang, removed card): no later call on this Device can succeed.
class DeviceLost : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

// No device as asked for: the message says why (no driver, no permission, no code for the architecture).
class NoSuchDevice : public DeviceError {
 public:
  using DeviceError::DeviceError;
};

}  // namespace mnistd::gpu
