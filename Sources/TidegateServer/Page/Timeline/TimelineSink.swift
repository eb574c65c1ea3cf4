internal import Synchronization
internal import TidegateCore

/// Keeps the page's timeline up to date.
final class TimelineSink: EventSink {
    private let timeline: Mutex<Timeline>

    init(from start: MonotonicTime) { self.timeline = Mutex(Timeline(from: start)) }

    func receive(_ event: Event) {
        switch event.payload {
        case .path, .task: self.timeline.withLock { $0.handle(event) }
        case .targetCheck, .link, .netlink, .session, .daemon: break
        }
    }

    func svg(at time: any TimeSource) -> TimelineSVG {
        TimelineSVG(timeline: self.timeline.withLock { $0 }, now: time.monotonic(), wall: time.wall())
    }
}
