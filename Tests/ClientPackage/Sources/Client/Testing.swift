import Foundation
import Tidegate
import TidegateTesting

/// A test without a network: the app's request is held while a script says that there is no path.
func testWithoutNetwork(_ server: URL) async throws {
    let paths = ScriptedPathSource(ScriptedPathSource.lost(.noCarrier))
    let time = SystemClock()
    let session = try Session(
        SessionConfiguration(), bus: EventBus(time: time), paths: paths, resolver: ScriptedResolver(), time: time,
        generator: SystemRandomNumberGenerator())
    let events = session.events()

    let request = Task { try await session.data(for: server) }
    let held = await events.first { $0.name == "task.held" }
    try expect(held != nil, "the request is not held")
    paths.say(ScriptedPathSource.routed())
    let (_, response) = try await request.value
    try expect(response.status == 200, "the request ends with \(response.status)")
    await session.invalidate(cancellingTasks: true)
}
