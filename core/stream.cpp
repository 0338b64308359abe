// Streams and events, through the backend's table.
#include "tandem/core/stream.h"

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/runtime.h"

namespace tandem {

Stream::Stream(Device device) : handle_(backend(device).runtime.create_stream(resolve(device))), owned_(true) {}
Stream::~Stream() {
  if (owned_) backend(handle_.device).runtime.destroy_stream(handle_);
}
Stream Stream::current(Device device) { return Stream(backend(device).runtime.current_stream(resolve(device))); }
Stream Stream::standard(Device device) {
  const StreamGuard guard(Stream(StreamHandle{resolve(device)}));  // null is the device's own
  return current(device);
}
bool Stream::query() const { return backend(handle_.device).runtime.stream_is_done(handle_); }
void Stream::make_current() const { backend(handle_.device).runtime.set_current_stream(handle_); }
void Stream::synchronize() const { backend(handle_.device).runtime.synchronize_stream(handle_); }

StreamGuard::StreamGuard(const Stream& stream)
    : previous_(backend(stream.device()).runtime.current_stream(stream.device())) {
  stream.make_current();
}
StreamGuard::~StreamGuard() { backend(previous_.device).runtime.set_current_stream(previous_); }

Event::Event(DeviceType type) : type_(type), event_(backend(type).runtime.create_event()) {}
Event::~Event() {
  if (event_ != nullptr) backend(type_).runtime.destroy_event(event_);
}
void Event::record(const Stream& stream) { backend(type_).runtime.record_event(event_, stream.handle()); }
void Event::wait(const Stream& stream) const { backend(type_).runtime.wait_event(event_, stream.handle()); }
void Event::synchronize() const { backend(type_).runtime.synchronize_event(event_); }
bool Event::query() const { return backend(type_).runtime.event_is_done(event_); }
double Event::elapsed_ms(const Event& end) const { return backend(type_).runtime.elapsed_ms(event_, end.event_); }

void synchronize(Device device) { backend(device).runtime.synchronize(resolve(device)); }

}  // namespace tandem
