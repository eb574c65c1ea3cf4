internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import TidegateCore

/// The page, and the monitor's state as JSON.
struct StatusRoutes: Sendable {
    let dependencies: EndpointRoutes.Dependencies

    func ready() -> Response {
        self.dependencies.view.isReady
            ? .text("Tidegate is ready.")
            : .text("Tidegate has no first verdict yet.", status: .serviceUnavailable)
    }

    /// The page; with `isViewed` somebody looks at it, and does not only ask whether it is there.
    func page(isViewed: Bool) -> Response {
        if isViewed { self.dependencies.view.pageViewed() }
        let (view, time, history) = (self.dependencies.view, self.dependencies.time, self.dependencies.history)
        let page = PageView(
            status: view.status, tasks: view.tasks(), timeline: self.dependencies.timeline.svg(at: time),
            events: history.newest(PageView.eventLimit, where: { $0.relevance == .page }),
            now: time.wall(), configuration: self.dependencies.configuration)
        var response = Response(
            status: .ok, headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: page.html)))
        response.headers[.contentSecurityPolicy] = PageView.contentSecurityPolicy
        return response
    }

    func status() -> Response {
        let view = self.dependencies.view
        return .json(view.status.json.adding(.init("diagnosis", view.diagnosis?.json ?? .null)))
    }

    func targets() -> Response {
        .json(TargetsDocument.json(self.dependencies.view.status, names: self.dependencies.configuration.targetNames))
    }

    func tasks() -> Response {
        .json(["schema": 1, "tasks": .array(self.dependencies.view.tasks().map(\.json))])
    }

    func task(_ text: String) -> Response {
        guard let id = TaskID(text), let task = self.dependencies.view.task(id) else {
            return ProblemDocument(.notFound, "no task has this ID", format: .json).response
        }
        return .json(TaskDocument(task).response)
    }
}
