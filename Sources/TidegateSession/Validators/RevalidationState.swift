/// How a task's response is asked about and stored.
final class RevalidationState {
    /// The request that is on the wire, as the store knows it; nil if it has nothing to do with the store.
    var request: StoredRequest?
    /// What the request on the wire asks about; nil if it asks for the response as if there were none.
    var asked: StoredResponse?
    /// True once an answer was of no use: the next attempt asks for the whole response.
    var asksForAll = false
    /// What the server has confirmed.
    var confirmed: StoredResponse?
    /// True if the session was reset since the request was made, so that nothing of its answer is stored.
    var isForgotten = false
    /// What is stored once the task's body is whole.
    var candidate: StoredResponse?
}
