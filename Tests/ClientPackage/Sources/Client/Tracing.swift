import Foundation
import Tidegate
import TidegateTracing
import Tracing

/// Makes spans of tasks and their attempts with the tracer that the app has set up.
func traceRequests(to server: URL) async throws {
    var configuration = MonitorConfiguration()
    configuration.tracer = DistributedTracer(InstrumentationSystem.tracer)
    let monitor = try Monitor(configuration)
    _ = try await monitor.session.data(for: server)
    await monitor.stop()
}
