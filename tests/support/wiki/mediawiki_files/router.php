<?php
// Routes of `php -S`: /api.php is the real MediaWiki; /fault/NAME/api.php gives the faults that stand in front of Wikipedia's.
// Shapes as Wikimedia's edge gives them: HTML or plain text, never JSON.
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$fault = preg_match('#^/fault/([a-z0-9]+)/api\.php$#', $path, $m) ? $m[1] : '';

function answer(int $status, string $type, string $body): bool {
    http_response_code($status);
    header("Content-Type: $type");
    echo $body;
    return true;
}

switch ($fault) {
    case '429':
        header('Retry-After: 7');
        return answer(429, 'text/html; charset=utf-8', '<!DOCTYPE html><title>Wikimedia Error</title><p>Too many requests.');
    case '403':
        return answer(403, 'text/html', '<html><body>Please set a user-agent and respect our robot policy.</body></html>');
    case '503':
        return answer(503, 'text/html', '<html><body>upstream connect error</body></html>');
    case 'cut':
        return answer(200, 'application/json', '{"batchcomplete":true,"query":{"pages":[{"pag');
    case 'html':
        return answer(200, 'text/html', '<html><body>Sign in to the network</body></html>');
}
if ($fault === '' && $path !== '/api.php') {
    return answer(404, 'text/plain', 'nothing here');
}
$_SERVER['SCRIPT_NAME'] = '/api.php';
$_SERVER['SCRIPT_FILENAME'] = $_SERVER['DOCUMENT_ROOT'] . '/api.php';
$GLOBALS['laggedWiki'] = $fault === 'lag';
chdir($_SERVER['DOCUMENT_ROOT']);
require $_SERVER['DOCUMENT_ROOT'] . '/api.php';
return true;
