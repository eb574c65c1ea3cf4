package import TidegateCore

/// What an endpoint serves of a monitor; obtained from the monitor, and passed to an endpoint.
public struct EndpointDependencies: Sendable {
    package let view: any MonitorView
    package let bus: EventBus
    package let recorder: MetricsRecorder
    package let time: any TimeSource
    package let targetNames: [Target: String]
    package let version: String

    package init(
        view: any MonitorView, bus: EventBus, recorder: MetricsRecorder, time: any TimeSource,
        targetNames: [Target: String], version: String
    ) {
        self.view = view
        self.bus = bus
        self.recorder = recorder
        self.time = time
        self.targetNames = targetNames
        self.version = version
    }
}
