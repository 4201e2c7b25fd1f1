<?php
// Appended to the LocalSettings.php that MediaWiki's installer writes.
$wgJobRunRate = 0;
$wgMainCacheType = CACHE_NONE;
$wgEnableUploads = false;
$wgShowExceptionDetails = true;
$wgNamespaceAliases['WP'] = NS_PROJECT;
// A wiki on one server never lags: the lag of replicas is put in where MediaWiki reads it.
$wgHooks['ApiMaxLagInfo'][] = static function (array &$info): void {
    if ($GLOBALS['laggedWiki'] ?? false) {
        $info = ['host' => 'replica-2', 'lag' => 31, 'type' => 'db'];
    }
};
